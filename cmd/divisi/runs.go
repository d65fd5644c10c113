package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

func newRuns(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs",
		Long:    "List the runs here, or on the server of --on, newest first." + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi runs\n  divisi runs --output json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.listRuns(c.Context()) },
	}
	c.AddCommand(newRunsRm(g))
	return c
}

// findTask resolves RUN[/TASK], or nothing at all: the newest run.
func (g *globals) findTask(ctx context.Context, args []string) (run, task string, err error) {
	if len(args) == 0 {
		run, err = g.findRun(ctx, nil)
		return run, "", err
	}
	name, task, parted := strings.Cut(args[0], "/")
	if parted && task == "" {
		return "", "", usagef("%q has no task after the slash: is a variable not set?", args[0])
	}
	run, err = g.findRun(ctx, []string{name})
	return run, task, err
}

// findRun resolves a run's id, a part of it that only one run has, or nothing at all: the newest run. A name that is there and
// empty is most likely a variable that is not set, and must not become the newest run.
func (g *globals) findRun(ctx context.Context, args []string) (string, error) {
	if len(args) > 0 && args[0] == "" {
		return "", usagef("the name of the run is empty: is a variable not set? See: divisi runs")
	}
	ids, err := g.runs().List(ctx)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", usagef("there are no runs %s; start one with: divisi demo", g.place())
	}
	if len(args) == 0 {
		return ids[0], nil
	}
	if slices.Contains(ids, args[0]) {
		return args[0], nil
	}
	if id, err := only(ids, args[0], strings.Contains); id != "" || err != nil {
		return id, err
	}
	return "", usagef("there is no run %q%s\nSee: divisi runs", args[0], nearest(args[0], ids))
}

// only returns the one id that a name means; "" for none. A name that could be several is an error.
func only(ids []string, name string, means func(id, name string) bool) (string, error) {
	found := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return name == "" || !means(id, name) })
	if len(found) > 1 {
		return "", usagef("%q could be any of %s", name, strings.Join(found, ", "))
	}
	return strings.Join(found, ""), nil
}

func (g *globals) listRuns(ctx context.Context) error {
	ids, err := g.runs().List(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, id := range ids {
		cells, v := g.runCells(ctx, id)
		err := g.print(func(*strings.Builder) error {
			row, err := cells()
			rows = append(rows, row)
			return err
		}, v)
		if err != nil {
			return fmt.Errorf("print run %s: %w", id, err)
		}
	}
	text := console.Table(rows)
	if len(ids) == 0 {
		text = fmt.Sprintf("There are no runs %s. Start one with: divisi demo\n", g.place())
	}
	return g.print(say("%s", text))
}

// runCells returns the cells of a run's row, and its report; also of one that cannot be read.
func (g *globals) runCells(ctx context.Context, id string) (cells func() ([]string, error), v any) {
	s, err := g.runs().Summary(ctx, id)
	if err == nil {
		return func() ([]string, error) {
			how, err := console.Progress(s.Report)
			return append([]string{id, unfetched(s)}, how...), err
		}, s.Report
	}
	state := "unreadable"
	if code, _ := orchestrator.CodeOf(err); code == usage.Format {
		state = "other format"
	}
	return func() ([]string, error) { return []string{id, state, g.calls(errorLine(err))}, nil },
		map[string]string{"run": id, "state": state, "error": g.calls(worded(err))}
}

// unfetched is the state of a run, and whether its branch is in no repository yet.
func unfetched(s orchestrator.Summary) string {
	if s.Unfetched {
		return s.State + ", not fetched"
	}
	return s.State
}

// errorLine is an error with its advice in one line.
func errorLine(err error) string {
	return console.Sanitize(strings.ReplaceAll(worded(err), "\n", "; "))
}
