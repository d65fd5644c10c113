package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/orchestrator/console"
)

func newShow(g *globals) *cobra.Command {
	var times bool
	c := &cobra.Command{
		Use:   "show [RUN[/TASK]]",
		Short: "Show a run's report, or one task of it",
		Long: `Show a run's report: its state, its tasks with attempts, commits and usage, and its gates against the
baseline. Without RUN, the newest run. With /TASK, everything about one task; TASK alone is one of the
newest run. With --time, where the wall clock went, along the critical path. With --output markdown,
the report of a run for a summary of CI or a comment on a code host.`,
		Example: "  divisi show\n  divisi show 20261121-101500-1f2e\n  divisi show 1f2e/migrate-003\n" +
			"  divisi show --time\n  divisi show --output json\n  divisi show --output markdown >> \"$GITHUB_STEP_SUMMARY\"",
		Annotations: map[string]string{outputs: markdown},
		RunE:        func(c *cobra.Command, args []string) error { return g.show(c.Context(), args, times) },
	}
	c.Flags().BoolVar(&times, "time", false, "show where the wall clock went")
	return c
}

func (g *globals) show(ctx context.Context, args []string, times bool) error {
	run, task, err := g.findTask(ctx, args)
	if err != nil {
		return err
	}
	s, err := g.runs().Summary(g.log.WithContext(ctx), run)
	switch {
	case err != nil:
		return err
	case g.output == markdown && (task != "" || times):
		return usagef("--output markdown is for the report of a run\nSee: divisi show %s --output markdown", run)
	case g.output == markdown:
		return g.print(func(b *strings.Builder) error { return console.MarkdownReport(b, s.Report, g.calls) }, s.Report)
	case task != "" && times:
		return usagef("--time is of a run, not of a task\nSee: divisi show --time %s", run)
	case task != "":
		data, err := taskIn(run, s.Report, task)
		if err != nil {
			return err
		}
		return g.print(func(b *strings.Builder) error { return console.TaskReport(b, data) }, data)
	case times:
		return g.print(func(b *strings.Builder) error { return console.Times(b, s.Report) }, s.Report)
	}
	called, err := g.callsIn(s.Report)
	if err != nil {
		return fmt.Errorf("print run %s: %w", run, err)
	}
	err = g.print(func(b *strings.Builder) error {
		var text strings.Builder
		err := console.Report(&text, s.Report, width(g.out), g.calls)
		b.WriteString(g.calls(text.String()))
		return err
	}, called)
	if err != nil {
		return err
	}
	return g.abandoned(run, s)
}

// taskIn is one task of a report.
func taskIn(run string, report json.RawMessage, id string) (json.RawMessage, error) {
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
	return nil, usagef("run %s has no task %q%s\nSee: divisi show %s", run, id, nearest(id, ids), run)
}
