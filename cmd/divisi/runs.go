package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"divisi/orchestrator/console"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
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
func (g *globals) findTask(args []string) (run, task string, err error) {
	if len(args) == 0 {
		run, err = g.findRun(nil)
		return run, "", err
	}
	name, task, parted := strings.Cut(args[0], "/")
	if parted && task == "" {
		return "", "", usagef("%q has no task after the slash: is a variable not set?", args[0])
	}
	run, err = g.findRun([]string{name})
	return run, task, err
}

// findRun resolves a run's id, a part of it that only one run has, or nothing at all: the newest run. A name that is there and
// empty is most likely a variable that is not set, and must not become the newest run.
func (g *globals) findRun(args []string) (string, error) {
	if len(args) > 0 && args[0] == "" {
		return "", usagef("the name of the run is empty: is a variable not set? See: divisi runs")
	}
	ids, err := g.store().IDs()
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
	ids, err := g.store().IDs()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(g.out, 0, 0, 2, ' ', 0)
	for _, id := range ids {
		r, state, err := g.standing(ctx, id)
		unread := "unreadable"
		if errors.As(err, new(*store.FormatError)) {
			unread = "other format"
		}
		switch {
		case err != nil && g.json():
			err = json.NewEncoder(g.out).Encode(map[string]string{"run": id, "state": unread, "error": err.Error()})
		case err != nil:
			_, err = fmt.Fprintf(w, "%s\t%s\t%s\n", id, unread, console.Sanitize(errorLine(err)))
		case g.json():
			err = json.NewEncoder(g.out).Encode(r)
		default:
			_, err = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", id, state, progressOf(r), console.Sanitize(oneLine(r.Goal)))
		}
		if err != nil {
			return fmt.Errorf("print run %s: %w", id, err)
		}
	}
	if len(ids) == 0 && !g.json() {
		fmt.Fprintf(g.out, "There are no runs in %s. Start one with: divisi demo\n", g.stateDir)
	}
	return w.Flush()
}

// standing returns a run's report, and its state in one word.
func (g *globals) standing(ctx context.Context, run string) (r report.Report, state string, err error) {
	if r, ok := g.store().Summary(run); ok {
		return r, string(r.State), nil
	}
	st, alone, err := g.store().State(ctx, run)
	if err != nil {
		return r, "", err
	}
	return report.Of(st), stateOf(st, alone), nil
}

// errorLine is an error with its advice in one line.
func errorLine(err error) string { return oneLine(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// stateOf is a run's state in one word. A run that has not ended and has no process was killed.
func stateOf(st *run.State, alone bool) string {
	if alone && !st.Status.Ended() {
		return "killed"
	}
	return report.Status(st)
}

// progressOf counts the landed and unchanged tasks of a run, and names what it waits for.
func progressOf(r report.Report) string {
	n, all, unverified := map[run.TaskState]int{}, 0, 0
	for _, t := range r.Tasks {
		if t.Unverified {
			unverified++
		}
		if t.ID != run.MasterTask {
			n[t.State]++
			all++
		}
	}
	landed := n[run.TaskLanded]
	text := fmt.Sprintf("%d of %d landed%s", landed, all, unverifiedWord(landed > 0 && unverified == landed))
	if unverified > 0 && unverified < landed {
		text += fmt.Sprintf(", %d of them unverified", unverified)
	}
	if done := n[run.TaskDone]; done > 0 {
		text += fmt.Sprintf(", %d without a change", done)
	}
	if r.Wait != "" {
		text += "; waits for " + console.Sanitize(r.Wait)
	} else if why, _, _ := strings.Cut(r.Reason, " ("); r.State == run.Stopped && strings.HasPrefix(why, phase.WaitsFor) {
		text += "; " + console.Sanitize(why)
	}
	for _, q := range r.Quotas {
		text += "; " + console.Sanitize(q.String())
	}
	return text
}
