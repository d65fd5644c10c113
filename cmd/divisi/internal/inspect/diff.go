package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
)

// NewDiff makes divisi diff.
func NewDiff(g *Globals) *cobra.Command {
	var stat bool
	c := &cobra.Command{
		Use:   "diff RUN/TASK[/N]",
		Short: "Show the patch of one attempt of a task",
		Long: `Show the changes of an attempt since the commit that it started from, landed or not. RUN/TASK is the
newest attempt, RUN/TASK/2 is attempt 2, TASK alone is a task of the newest run. Terminal escape
sequences are replaced; --output json prints the original text.`,
		Example: "  divisi diff 1f2e/rewrite-003\n  divisi diff 1f2e/rewrite-003/1 --stat",
		RunE: func(c *cobra.Command, args []string) error {
			look := func(r *orchestrator.Run, task string, number int) (json.RawMessage, error) {
				return r.Diff(c.Context(), task, number, stat)
			}
			return g.LookAt(c.Context(), args[0], look, g.DiffText)
		},
	}
	c.Flags().BoolVar(&stat, "stat", false, "print the changed files and how many lines of each changed")
	return c
}

// DiffText writes the patch in what Diff returned.
func (g *Globals) DiffText(b *strings.Builder, data json.RawMessage) error {
	var p struct {
		Diff string `json:"diff"`
	}
	err := json.Unmarshal(data, &p)
	b.WriteString(g.PatchText(p.Diff))
	return err
}

var added, deleted = regexp.MustCompile(`(?m)^\+.*$`), regexp.MustCompile(`(?m)^-.*$`)

// PatchText is a patch without what a terminal would obey, on a terminal in colours.
func (g *Globals) PatchText(patch string) string {
	fields := strings.Split(patch, "\t")
	for i := range fields {
		fields[i] = display.Visible(fields[i])
	}
	patch = strings.Join(fields, "\t")
	if cli.IsTerminal(g.Out) && cli.Colourful() {
		patch = added.ReplaceAllString(deleted.ReplaceAllString(patch, "\x1b[31m$0\x1b[m"), "\x1b[32m$0\x1b[m")
	}
	return patch
}

// lookTries is how often a command starts again when the owner of the log ended meanwhile.
const lookTries = 5

// onAttempt has something done with the attempt that a name stands for.
func (g *Globals) onAttempt(
	ctx context.Context, name string, do func(r *orchestrator.Run, task string, number int) error,
) (err error) {
	var run, task string
	var number int
	if strings.Contains(name, "/") {
		if run, task, number, err = SplitTask(name); err == nil {
			run, err = g.FindRun(ctx, []string{run})
		}
	} else {
		run, task, err = g.TaskOf(ctx, name)
	}
	if err != nil {
		return err
	}
	return g.OnRun(ctx, run, func(r *orchestrator.Run) error { return do(r, task, number) })
}

// OnRun opens a run for one thing.
func (g *Globals) OnRun(ctx context.Context, run string, do func(*orchestrator.Run) error) (err error) {
	// Another command may have owned the log and ended in between: then this one can own it.
	for range lookTries {
		var r *orchestrator.Run
		if r, err = g.Attach(ctx, run); err == nil {
			err = do(r)
			err = errors.Join(err, r.Close())
		}
		if code, _ := orchestrator.CodeOf(err); code != usage.NoOwner {
			break
		}
	}
	return err
}

// LookAt has a run inspect the attempt that a name stands for, and prints what it returns: as JSON, or as text writes it.
func (g *Globals) LookAt(
	ctx context.Context, name string, look func(*orchestrator.Run, string, int) (json.RawMessage, error),
	text func(*strings.Builder, json.RawMessage) error,
) error {
	var data json.RawMessage
	err := g.onAttempt(ctx, name, func(r *orchestrator.Run, task string, number int) (err error) {
		data, err = look(r, task, number)
		return err
	})
	if err != nil {
		return err
	}
	return g.Print(func(b *strings.Builder) error { return text(b, data) }, data)
}
