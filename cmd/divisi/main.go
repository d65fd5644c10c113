//go:build !man

// Command divisi runs one large refactor as many small, verified tasks in parallel. Its input are flags, arguments, the
// environment and the files that they name; its output is text or JSON, and the exit code. It decides nothing about a run:
// package orchestrator does.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
)

func main() {
	cobra.EnableCommandSorting = false // those of a group are in the order of use
	if err := cli.AsInShell(); err != nil {
		fmt.Fprintln(os.Stderr, "divisi:", err)
		os.Exit(cli.CodeMachine)
	}
	os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
