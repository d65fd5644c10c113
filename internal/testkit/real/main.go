// Command real runs jobs of a public repository's size on clones of public repositories, and prints what each cost beside a plain
// script that does the same. It needs no key: every change is made by sed. It is resumable: a step that has a result is not run again.
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
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: real [-divisi PROGRAM] [-only NAME,…] [-mutants N] DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := matrix(ctx, *divisi, flag.Arg(0), *only, *mutants); err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do
	}
}
