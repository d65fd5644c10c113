// Command chaos runs plans on a server and several workers, and kills, stops and cuts off these processes at moments that a seed
// gives. Each round must end as if nothing had happened. It needs no key and no network but loopback.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// trial is the request to the program.
type trial struct {
	divisi, dir string
	rounds      int
	seed        int64
	limit       time.Duration
	table       table
	resume      bool
	three       bool
}

func main() {
	var t trial
	flag.StringVar(&t.divisi, "divisi", "bin/divisi", "the program to try")
	flag.IntVar(&t.rounds, "rounds", 1, "how many rounds")
	flag.Int64Var(&t.seed, "seed", 1, "the seed of the first round; the others count on")
	flag.DurationVar(&t.limit, "limit", 2*time.Minute, "after this a round is slow, and given up")
	flag.StringVar(&t.table.path, "table", "", "append a line for each round to this file; default table.tsv in DIR")
	flag.BoolVar(&t.resume, "resume", false, "leave out the rounds up to the last one of the table")
	flag.BoolVar(&t.three, "three", false, "three servers as a cluster and two hosts, and not one process that is both")
	nats := flag.String("nats", "", "be one of the servers: a value that this program gives itself")
	flag.Parse()
	if *nats != "" {
		os.Exit(serveNATS(*nats)) //nolint:forbidigo // this is main
	}
	os.Exit(t.main()) //nolint:forbidigo // this is main
}

// main returns the status that the program ends with.
func (t *trial) main() int {
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: chaos [-divisi PROGRAM] [-rounds N] [-seed S] [-table FILE] [-resume] [-three] DIR")
		return 2
	}
	t.dir = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	wrong, err := t.run(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	return min(wrong, 1)
}

// run runs the rounds, and counts those that went wrong. The directories of those that did not end well stay.
func (t *trial) run(ctx context.Context, out io.Writer) (wrong int, err error) {
	if err := t.place(); err != nil {
		return 0, err
	}
	seed := t.seed
	if t.resume {
		last, err := t.table.last()
		if err != nil {
			return 0, err
		}
		seed = max(seed, last+1)
	}
	for ; seed < t.seed+int64(t.rounds); seed++ {
		r := newRound(t, seed)
		l := r.play(ctx)
		if ctx.Err() != nil {
			return wrong, ctx.Err()
		}
		fmt.Fprintln(out, l)
		if err := t.table.add(l); err != nil {
			return wrong, err
		}
		if l.verdict != verdictOK {
			fmt.Fprintf(out, "\tit is kept in %s; repeat it with: -seed %d -rounds 1\n", r.Dir, seed)
		}
		if l.verdict == verdictWrong {
			wrong++
		}
	}
	return wrong, nil
}

// place finds the paths of the trial.
func (t *trial) place() (err error) {
	if t.divisi, err = filepath.Abs(t.divisi); err != nil {
		return err
	}
	if t.dir, err = filepath.Abs(t.dir); err != nil {
		return err
	}
	if t.table.path == "" {
		t.table.path = filepath.Join(t.dir, "table.tsv")
	}
	return os.MkdirAll(t.dir, 0o755)
}
