// Command real runs jobs of a public repository's size on clones of public repositories, and prints what each cost beside a plain
// script that does the same. It needs no key: sed makes every change. It is resumable: a step that has a result is not run again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	divisi := flag.String("divisi", "bin/divisi", "the program to try")
	only := flag.String("only", "", "repositories to try, with commas between; default all")
	mutants := flag.Int("mutants", 0, "wrong shards to seed in each repository that has mutants; 20 for the figure")
	flag.Parse()
	os.Exit(try(*divisi, *only, *mutants)) //nolint:forbidigo // this is main
}

// try returns the status that the program ends with.
func try(divisi, only string, mutants int) int {
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: real [-divisi PROGRAM] [-only NAME,…] [-mutants N] DIR")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := matrix(ctx, os.Stdout, divisi, flag.Arg(0), only, mutants); err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		return 1
	}
	return 0
}
