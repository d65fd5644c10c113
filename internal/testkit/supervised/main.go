// Command supervised starts a run of several hundred tasks with a simulated model, for a person who supervises it on the page.
// Some patches are wrong though all gates pass, some briefs are wrong, and one gate is flaky: which patches, only answers.json
// tells. When it is interrupted it prints what became of them, and how often the person was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// trial is the request to the program.
type trial struct {
	divisi, dir, listen string
	seed                uint64
	tasks, named        int
	pace                time.Duration
	review, leave       bool
}

func main() {
	var t trial
	flag.StringVar(&t.divisi, "divisi", "bin/divisi", "the program to try")
	flag.StringVar(&t.dir, "dir", "", "a directory for the repository, the state and answers.json; needed")
	flag.StringVar(&t.listen, "listen", "127.0.0.1:0", "address of the page")
	flag.Uint64Var(&t.seed, "seed", 1, "what is planted where follows from it")
	flag.IntVar(&t.tasks, "tasks", 300, "how many tasks")
	flag.IntVar(&t.named, "named", 2, "in how many of the six templates each patch has names of its own in its lines")
	flag.DurationVar(&t.pace, "pace", 25*time.Minute, "how long the agents take together; waiting for answers comes on top")
	flag.BoolVar(&t.review, "review", true, "hold each patch until a person accepts it")
	flag.BoolVar(&t.leave, "leave", false, "print the figures when the run ends, in place of waiting for Ctrl-C")
	figures := flag.Bool("figures", false, "print the figures of the run in -dir, and start nothing")
	flag.Parse()
	os.Exit(t.main(*figures)) //nolint:forbidigo // this is main
}

// main returns the status that the program ends with.
func (t *trial) main(figures bool) int {
	if t.dir == "" || flag.NArg() != 0 {
		fmt.Fprintln(os.Stderr, "usage: supervised -dir DIR [-divisi PROGRAM] [-listen ADDRESS] [-seed S] [-tasks N] [-pace D] …")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := t.try(ctx, os.Stdout, figures); err != nil {
		fmt.Fprintln(os.Stderr, "supervised:", err)
		return 1
	}
	return 0
}

func (t *trial) try(ctx context.Context, out io.Writer, figures bool) (err error) {
	if t.dir, err = filepath.Abs(t.dir); err != nil {
		return err
	}
	if t.divisi, err = filepath.Abs(t.divisi); err != nil {
		return err
	}
	if !figures {
		if err := t.supervise(ctx, out); err != nil {
			return err
		}
	}
	return t.figures(out)
}

// supervise makes the repository, and runs the plan until it is interrupted.
func (t *trial) supervise(ctx context.Context, out io.Writer) error {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(t.path("answers.json")); err == nil {
		return fmt.Errorf("%s has a run already: give another directory, or -figures", t.dir)
	}
	h, err := build(t.seed, t.tasks, t.named)
	if err != nil {
		return err
	}
	if err := h.put(ctx, t.dir); err != nil {
		return err
	}
	service, err := t.serve(ctx, h)
	if err != nil {
		return err
	}
	return errors.Join(t.watch(ctx, out, service.url), service.close())
}

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }
