package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

func newWatch(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run from another terminal, or replay a finished one",
		Long: `Follow a run's log from its first event on, from another process. A finished run is replayed.
Without RUN, the newest run. On a terminal keys decide, open the tasks, pause and resume: ? shows them,
and q leaves the run as it is. SIGUSR1 prints a summary of the run.` + codes(codeOK, codeUsage, codeStopped, codeMachine),
		Example: "  divisi watch\n  divisi watch --notify 'notify-send divisi \"$DIVISI_TEXT\"'\n" +
			"  divisi watch 1f2e --output json | jq .kind",
		RunE: func(c *cobra.Command, args []string) error { return g.watch(c.Context(), args) },
	}
	g.noticeFlags(c)
	return c
}

func (g *globals) watch(ctx context.Context, args []string) error {
	r, err := g.open(ctx, args)
	if err != nil {
		return err
	}
	view := g.newConsole()
	defer g.attend(view)()
	keyed := g.keyed()
	if !keyed || r.NotRunning() { // most of those have ended, and need no key
		err = console.Follow(r.Events(ctx), view)
	}
	err = errors.Join(err, r.Close())
	if keyed && err == nil && !view.Over() {
		err = g.board(ctx, r.ID(), view)
	}
	err = errors.Join(err, view.Close())
	if errors.Is(err, context.Canceled) {
		return &endError{codeStopped, g.calls("run " + r.ID() + " is no longer followed: its process continues")}
	}
	if code, _ := orchestrator.CodeOf(err); err != nil && code != usage.NoOwner { // the owner may just have ended in order
		return err
	}
	s, err := g.runs().Summary(g.log.WithContext(ctx), r.ID())
	if code, _ := orchestrator.CodeOf(err); code == usage.Server {
		return &endError{codeStopped, g.calls("the server has just ended: run " + r.ID() +
			" continues when it is started again; follow it then with: divisi watch " + r.ID())}
	}
	if err != nil {
		return err
	}
	return g.abandoned(r.ID(), s)
}

// abandoned prints the next step for a run that has not ended and has no process, and for one whose branch no repository has.
func (g *globals) abandoned(run string, s orchestrator.Summary) error {
	if s.Unfetched {
		_, err := fmt.Fprintf(g.err, "divisi: the branch of run %s is with the host; get it with: %s\n", run,
			g.calls("divisi publish "+run))
		return err
	}
	if s.State != "killed" {
		return nil
	}
	next := "resume with: divisi resume " + run
	switch s.Problem {
	case usage.Damaged:
		next = "its log is damaged, and no process can continue it; save what landed with: divisi publish " + run
	case usage.Unreadable:
		next = "an event of its conductor cannot be read, and no process can continue it"
	}
	_, err := fmt.Fprintf(g.err, "divisi: run %s is not running; %s\n", run, g.calls(next))
	return err
}

// newConsole makes the view of a run that fits standard output.
func (g *globals) newConsole() *console.Console {
	return console.New(console.Options{
		Out: g.out, TTY: isTerminal(g.out), Color: colourful(), JSON: g.json(), Now: now, Calls: g.calls,
		Width: func() int { return width(g.out) }, Height: func() int { return height(g.out) },
		Decide: g.calls("divisi decide "), ASCII: !utf8Locale(), Bell: g.bell, Notify: g.notifier(),
	})
}
