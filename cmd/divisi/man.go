//go:build man

// With the tag man this program writes its manual pages and completions into a directory, and is not divisi: what makes them is
// no part of the program that is published.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"divisi/cmd/divisi/internal/cli"
)

func main() {
	cobra.EnableCommandSorting = false
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // it is a main
	}
}

// write takes a directory and a time in seconds of Unix, which the pages have as their date.
func write(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: man DIR SECONDS")
	}
	seconds, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("read the date of the pages: %w", err)
	}
	man, completions := filepath.Join(args[0], "man", "man1"), filepath.Join(args[0], "completions")
	if err := errors.Join(os.MkdirAll(man, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		return fmt.Errorf("make directories: %w", err)
	}
	root := newRoot(&cli.Globals{In: os.Stdin, Out: io.Discard, Err: os.Stderr})
	root.DisableAutoGenTag = true
	root.PersistentFlags().Lookup("state-dir").DefValue = "~/.local/state/divisi" // that of a reader, not of this machine
	escape(root)
	date := time.Unix(seconds, 0).UTC()
	return errors.Join(
		doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Divisi", Manual: "Divisi", Date: &date}, man),
		root.GenBashCompletionFileV2(filepath.Join(completions, "divisi.bash"), true),
		root.GenZshCompletionFile(filepath.Join(completions, "_divisi")),
		root.GenFishCompletionFile(filepath.Join(completions, "divisi.fish"), true),
	)
}

// escape keeps what is in angle brackets, as in divisi/<run>: the maker of the pages reads texts as Markdown, and that would be HTML.
func escape(c *cobra.Command) {
	c.Long = strings.ReplaceAll(c.Long, "<", `\<`)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "<", `\<`) })
	for _, sub := range c.Commands() {
		escape(sub)
	}
}
