package acts

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
)

// NewTake makes divisi take.
func NewTake(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "take RUN/TASK[/N] DIR",
		Short: "Check an attempt out into a directory, to fix it by hand",
		Long: `Check an attempt of a task out into a directory, for a person to fix: a repository of its own, on the
commit that the attempt started from, with what it changed as changes that are not committed. DIR is
new or empty, and outside the repository. RUN/TASK is the newest attempt, RUN/TASK/2 is attempt 2, TASK
alone is a task of the newest run. divisi give then hands it in.`,
		Example: "  divisi take 1f2e/rewrite-003 ../fix",
		RunE: func(c *cobra.Command, args []string) error {
			look := func(r *orchestrator.Run, task string, number int) (json.RawMessage, error) {
				return r.Take(c.Context(), task, number, args[1])
			}
			return g.LookAt(c.Context(), args[0], look, g.TakenText)
		},
	}
}

// TakenText writes the commit that was checked out, and its place.
func (g *Globals) TakenText(b *strings.Builder, data json.RawMessage) error {
	var t struct {
		Run     string   `json:"run"`
		Task    string   `json:"task"`
		Attempt int      `json:"attempt"`
		Dir     string   `json:"dir"`
		Files   []string `json:"files"`
		LeftOut []string `json:"left_out"`
		Failure string   `json:"failure"`
		No      string   `json:"no"`
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return fmt.Errorf("read what was taken: %w", err)
	}
	fmt.Fprintf(b, "%s/%s, attempt %d, is in %s\n", t.Run, t.Task, t.Attempt, t.Dir)
	if t.Failure != "" {
		fmt.Fprintf(b, "reason: %s\n", display.Sanitize(t.Failure))
	}
	for _, file := range t.LeftOut {
		fmt.Fprintf(b, "left out, for your safety: %s\n", display.Sanitize(file))
	}
	if t.No != "" {
		fmt.Fprintf(b, "nothing can be given to it now: %s\n", display.Sanitize(t.No))
	} else {
		fmt.Fprintf(b, "git diff shows what it changed in %s. Fix it there, then: %s give %s/%s %s\n",
			text.Count(len(t.Files), "file"), g.Command(), t.Run, t.Task, text.Shell(t.Dir))
	}
	return nil
}
