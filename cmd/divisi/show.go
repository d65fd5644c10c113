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
	c := &cobra.Command{
		Use:   "show [RUN[/TASK]]",
		Short: "Show a run's report, or one task of it",
		Long: `Show a run's report: its state, its tasks with attempts, commits and usage, and its gates against
the baseline. Without RUN, the newest run. With /TASK, everything about one task.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi show\n  divisi show 20261121-101500-1f2e\n  divisi show 1f2e/migrate-003\n  divisi show --output json",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.show(c.Context(), args) },
	}
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) show(ctx context.Context, args []string) error {
	run, task, err := g.findTask(ctx, args)
	if err != nil {
		return err
	}
	s, err := g.runs().Summary(g.log.WithContext(ctx), run)
	switch {
	case err != nil:
		return err
	case task != "":
		return g.showTask(run, s.Report, task)
	}
	err = g.print(s.Report, func() (string, error) {
		text, err := console.Report(s.Report, width(g.out))
		return g.calls(text), err
	}, g.out)
	if err != nil {
		return err
	}
	return g.abandoned(run, s)
}

// showTask prints everything about one task of a report.
func (g *globals) showTask(run string, report json.RawMessage, id string) error {
	var r struct {
		Tasks []json.RawMessage `json:"tasks"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return fmt.Errorf("read the report of run %s: %w", run, err)
	}
	var ids []string
	for _, t := range r.Tasks {
		var of struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(t, &of); err != nil {
			return fmt.Errorf("read the report of run %s: %w", run, err)
		}
		if of.ID == id {
			return g.print(t, func() (string, error) { return console.TaskReport(t) }, g.out)
		}
		ids = append(ids, of.ID)
	}
	return usagef("run %s has no task %q%s\nSee: divisi show %s", run, id, nearest(id, ids), run)
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
