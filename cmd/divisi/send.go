package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
)

func newSend(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   `send RUN[/TASK] "MESSAGE"`,
		Short: "Send a message to a running agent, or answer its question",
		Long: `Send a message to the agent of a task, or to the run's master where no task is named; TASK alone is a
task of the newest run. A running agent gets it at its next turn, and a waiting task when it starts; a
task that has ended cannot receive messages, which is exit code 2. Where an agent waits for an answer
the message is the answer: a second one is refused until the first is taken back, with divisi decide
--take-back, or the agent has it. A message is kept in the log first: a stopped run accepts messages
too, and delivers them after resume. divisi show RUN/TASK shows when the agent got it.`,
		Example: `  divisi send 1f2e/api "Keep the old name as an alias"
  divisi send 1f2e "Leave the generated files out"`,
		RunE: func(c *cobra.Command, args []string) error { return g.send(c.Context(), args[0], args[1]) },
	}
}

func (g *globals) send(ctx context.Context, to, text string) error {
	run, task, err := g.findTask(ctx, []string{to})
	if err != nil {
		return err
	}
	return g.act(ctx, act.Send{Task: task, Text: text}, run)
}

// act does something to the run that args name, as findRun does, and prints what becomes of it.
func (g *globals) act(ctx context.Context, a act.Args, args ...string) error {
	r, err := g.open(ctx, args)
	if err != nil {
		return err
	}
	out, err := r.Act(ctx, a)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	return g.said(r.ID(), out.Text+next(r, a))
}

// next is how a person goes on after an act: with what undoes it where that is one word, else with the run.
func next(r *orchestrator.Run, a act.Args) string {
	way := act.Find("resume")
	if undo := act.Find(act.Find(a.Act()).Undo); undo != nil && undo.Alone() {
		way = undo
	} else if !r.NotRunning() {
		return ""
	}
	return "; " + strings.ToLower(way.Label) + " with: " + act.InTerminal(way) + " " + r.ID()
}

// open connects to the run that args name, as findRun does.
func (g *globals) open(ctx context.Context, args []string) (*orchestrator.Run, error) {
	id, err := g.findRun(ctx, args)
	if err != nil {
		return nil, err
	}
	return g.attach(ctx, id)
}

// attach connects to a run.
func (g *globals) attach(ctx context.Context, run string) (*orchestrator.Run, error) {
	return g.runs().Open(g.log.WithContext(ctx), run)
}

// said prints what becomes of a request.
func (g *globals) said(run, outcome string) error {
	return g.print(say("%s: %s\n", run, console.Sanitize(g.calls(outcome))), map[string]string{"run": run, "outcome": outcome})
}
