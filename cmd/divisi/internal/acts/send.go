package acts

import (
	"context"

	"github.com/spf13/cobra"

	"divisi/orchestrator/act"
)

// NewSend makes divisi send.
func NewSend(g *Globals) *cobra.Command {
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

func (g *Globals) send(ctx context.Context, to, text string) error {
	run, task, err := g.FindTask(ctx, []string{to})
	if err != nil {
		return err
	}
	return g.Act(ctx, act.Send{Task: task, Text: text}, run)
}
