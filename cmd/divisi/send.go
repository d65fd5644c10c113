package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

func newSend(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   `send RUN[/TASK] "MESSAGE"`,
		Short: "Send a message to a running agent, or answer its question",
		Long: `Send a message to the agent of a task, or to the run's master where no task is named. A running agent
gets it at its next turn, and a waiting task when it starts; a task that has ended cannot receive
messages, which is exit code 2. Where an agent waits for an answer the message is the answer: a second
one is refused until the first is taken back, with divisi decide --take-back, or the agent has it. A
message is kept in the log first: a stopped run accepts messages too, and delivers them after resume.
divisi show RUN/TASK shows when the agent got it.` + codes(codeOK, codeUsage, codeMachine),
		Example: `  divisi send 1f2e/api "Keep the old name as an alias"
  divisi send 1f2e "Leave the generated files out"`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return g.send(c.Context(), args[0], args[1]) },
	}
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) send(ctx context.Context, to, text string) error {
	run, task, err := g.findTask(ctx, []string{to})
	if err != nil {
		return err
	}
	return g.request(ctx, run, func(r *orchestrator.Run) (string, error) { return r.Send(ctx, task, text) })
}

// request puts a request to a run, and prints what becomes of it.
func (g *globals) request(ctx context.Context, run string, ask func(*orchestrator.Run) (string, error)) error {
	r, err := g.attach(ctx, run)
	if err != nil {
		return err
	}
	becomes, err := ask(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	return g.said(run, becomes)
}

// goesOn adds how a run is continued that no process carries out.
func goesOn(r *orchestrator.Run, becomes string, err error) (string, error) {
	if r.NotRunning() {
		becomes += "; continue with: divisi resume " + r.ID()
	}
	return becomes, err
}

// attach connects to a run.
func (g *globals) attach(ctx context.Context, run string) (*orchestrator.Run, error) {
	return g.runs().Open(g.log.WithContext(ctx), run)
}

// said prints what becomes of a request.
func (g *globals) said(run, becomes string) error {
	if g.json() {
		return encodeLine(g.out, map[string]string{"run": run, "becomes": becomes})
	}
	_, err := fmt.Fprintf(g.out, "%s: %s\n", run, console.Sanitize(g.calls(becomes)))
	return err
}
