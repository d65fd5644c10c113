package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

func newRuns(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs",
		Long:    "List the runs in the state directory, newest first." + codes(codeOK, codeUsage, codeMachine),
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
		return "", usagef("there are no runs in %s; start one with: divisi demo", g.stateDir)
	}
	if len(args) == 0 {
		return ids[0], nil
	}
	if slices.Contains(ids, args[0]) {
		return args[0], nil
	}
	var found []string
	for _, id := range ids {
		if strings.Contains(id, args[0]) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", usagef("there is no run %q%s\nSee: divisi runs", args[0], nearest(args[0], ids))
	default:
		return "", usagef("%q could be any of %s", args[0], strings.Join(found, ", "))
	}
}

func (g *globals) listRuns(ctx context.Context) error {
	ids, err := g.runs().List(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(g.out, 0, 0, 2, ' ', 0)
	for _, id := range ids {
		if err := g.listRun(ctx, w, id); err != nil {
			return fmt.Errorf("print run %s: %w", id, err)
		}
	}
	if len(ids) == 0 && !g.json() {
		fmt.Fprintf(g.out, "There are no runs in %s. Start one with: divisi demo\n", g.stateDir)
	}
	return w.Flush()
}

// listRun prints a run in a row; one that cannot be read too.
func (g *globals) listRun(ctx context.Context, w io.Writer, id string) error {
	s, err := g.runs().Summary(ctx, id)
	if err == nil {
		return g.print(s.Report, func() (string, error) {
			how, err := console.Progress(s.Report)
			return fmt.Sprintf("%s\t%s\t%s\n", id, s.State, how), err
		}, w)
	}
	state := "unreadable"
	if code, _ := orchestrator.CodeOf(err); code == usage.Format {
		state = "other format"
	}
	return g.print(map[string]string{"run": id, "state": state, "error": worded(err)}, func() (string, error) {
		return fmt.Sprintf("%s\t%s\t%s\n", id, state, console.Sanitize(errorLine(err))), nil
	}, w)
}

// errorLine is an error with its advice in one line.
func errorLine(err error) string { return oneLine(strings.ReplaceAll(worded(err), "\n", "; ")) }
