package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/console/reports"
)

// NewShow makes divisi show.
func NewShow(g *Globals) *cobra.Command {
	var times bool
	c := &cobra.Command{
		Use:   "show [RUN[/TASK]]",
		Short: "Show a run's report, or one task of it",
		Long: `Show a run's report: its state, its tasks with attempts, commits and usage, and its gates against the
baseline. Without RUN, the newest run. With /TASK, everything about one task; TASK alone is one of the
newest run. With --time, where the wall clock went, along the critical path. With --output markdown,
the report of a run for a summary of CI or a comment on a code host; with --output plan, its plan as a
file for divisi run --plan.`,
		Example: "  divisi show\n  divisi show 20261121-101500-1f2e\n  divisi show 1f2e/migrate-003\n" +
			"  divisi show --time\n  divisi show --output json\n  divisi show --output markdown >> \"$GITHUB_STEP_SUMMARY\"" +
			"\n  divisi show --output plan > plan.yaml",
		Annotations: map[string]string{cli.Outputs: cli.Markdown + " " + cli.Plan},
		RunE:        func(c *cobra.Command, args []string) error { return g.show(c.Context(), args, times) },
	}
	c.Flags().BoolVar(&times, "time", false, "show where the wall clock went")
	return c
}

func (g *Globals) show(ctx context.Context, args []string, times bool) error {
	run, task, err := g.FindTask(ctx, args)
	if err != nil {
		return err
	}
	if g.Output == cli.Plan {
		return g.showPlan(ctx, run, task != "" || times)
	}
	s, err := g.Runs().Summary(g.Log.WithContext(ctx), run)
	switch {
	case err != nil:
		return err
	case g.Output == cli.Markdown && (task != "" || times):
		return usage.Errorf("--output markdown is for the report of a run\nSee: divisi show %s --output markdown", run)
	case g.Output == cli.Markdown:
		return g.Print(func(b *strings.Builder) error { return reports.Markdown(b, s.Report, g.Calls) }, s.Report)
	case task != "" && times:
		return usage.Errorf("--time is of a run, not of a task\nSee: divisi show --time %s", run)
	case task != "":
		data, err := TaskIn(run, s.Report, task)
		if err != nil {
			return err
		}
		return g.Print(func(b *strings.Builder) error { return reports.Task(b, data, cli.Columns(g.Out)) }, data)
	case times:
		return g.Print(func(b *strings.Builder) error { return reports.Times(b, s.Report) }, s.Report)
	}
	called, err := g.CallsIn(s.Report)
	if err != nil {
		return fmt.Errorf("print run %s: %w", run, err)
	}
	err = g.Print(func(b *strings.Builder) error {
		var text strings.Builder
		err := reports.Run(&text, s.Report, cli.Columns(g.Out), g.Here)
		b.WriteString(g.Calls(text.String()))
		return err
	}, called)
	if err != nil {
		return err
	}
	return g.Abandoned(run, s)
}

// showPlan writes the plan of a run as a plan file.
func (g *Globals) showPlan(ctx context.Context, run string, part bool) error {
	if part {
		return usage.Errorf("--output plan is for a whole run\nSee: divisi show %s --output plan", run)
	}
	return g.OnRun(ctx, run, func(r *orchestrator.Run) error {
		plan, err := r.Plan(ctx)
		if err != nil {
			return err
		}
		return g.Print(cli.Say("%s", display.SanitizeLines(plan)))
	})
}

// TaskIn is one task of a report.
func TaskIn(run string, report json.RawMessage, id string) (json.RawMessage, error) {
	var r struct {
		Tasks []json.RawMessage `json:"tasks"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("read the report of run %s: %w", run, err)
	}
	var ids []string
	for _, t := range r.Tasks {
		var of struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(t, &of); err != nil {
			return nil, fmt.Errorf("read the report of run %s: %w", run, err)
		}
		if of.ID == id {
			return t, nil
		}
		ids = append(ids, of.ID)
	}
	return nil, usage.Errorf("run %s has no task %q%s\nSee: divisi show %s", run, id, cli.Nearest(id, ids), run)
}
