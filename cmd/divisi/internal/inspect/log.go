package inspect

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
	"divisi/orchestrator/console/reports"
)

// NewLog makes divisi log.
func NewLog(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "log RUN/TASK[/N]",
		Short: "Show the gate output for an attempt of a task",
		Long: `Show the gate output for an attempt, newest last: batch and other tasks, verdict, exit code, duration,
new failures of the task, and the output; of "go test -json" what failed, as go test prints it
(--output json has all of it). Before it come the output of the role's command, the
gates that the agent ran itself, and the artifacts that it saved. RUN/TASK is the newest attempt,
RUN/TASK/2 is attempt 2, TASK alone is a task of the newest run. divisi debug context shows the requests to
a model.`,
		Example: "  divisi log 1f2e/rewrite-003\n  divisi log 1f2e/rewrite-003/1 --output json",
		RunE: func(c *cobra.Command, args []string) error {
			look := func(r *orchestrator.Run, task string, number int) (json.RawMessage, error) {
				return r.Log(c.Context(), task, number)
			}
			return g.LookAt(c.Context(), args[0], look, reports.Attempt)
		},
	}
}
