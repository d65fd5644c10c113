package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

func newRuns(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the runs",
		Long: `List the runs here, or on the server of --on, newest first: state, progress, age, tokens, repository, and what a
run waits for: a decision, a person, a machine or a quota. On a terminal the table fits its width. With
--output json each run is its report, with the same fields.`,
		Example: "  divisi runs\n  divisi runs --output json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.listRuns(c.Context()) },
	}
	c.AddCommand(newRunsRm(g))
	return c
}

// findTask resolves RUN[/TASK], TASK alone for a task of the newest run, where no run ends with such a name, or nothing at all:
// the newest run.
func (g *globals) findTask(ctx context.Context, args []string) (run, task string, err error) {
	if len(args) == 0 {
		run, err = g.findRun(ctx, nil)
		return run, "", err
	}
	name, task, parted := strings.Cut(args[0], "/")
	if parted && task == "" {
		return "", "", usagef("%q has no task after the slash: is a variable not set?", args[0])
	}
	if parted {
		run, err = g.findRun(ctx, []string{name})
		return run, task, err
	}
	ids, err := g.runs().List(ctx)
	if err != nil {
		return "", "", err
	}
	var unread error
	if !slices.ContainsFunc(ids, func(id string) bool { return id == name || strings.HasSuffix(id, "-"+name) }) && len(ids) > 0 {
		var has bool
		if has, unread = g.hasTask(ctx, ids[0], name); has {
			return ids[0], name, nil
		}
	}
	if run, err = g.findRun(ctx, args[:1]); err != nil && unread != nil {
		err = unread
	}
	return run, "", err
}

// findTasks resolves RUN[/TASK] TASK..., or TASK... of the newest run.
func (g *globals) findTasks(ctx context.Context, args []string) (run string, tasks []string, err error) {
	run, task, err := g.findTask(ctx, args[:1])
	if task != "" {
		tasks = append(tasks, task)
	}
	return run, append(tasks, args[1:]...), err
}

// someTasks resolves what findTasks does, for a command that does nothing with a whole run.
func (g *globals) someTasks(c *cobra.Command, args []string) (run string, tasks []string, err error) {
	run, tasks, err = g.findTasks(c.Context(), args)
	if err == nil && len(tasks) == 0 {
		err = usagef("name the tasks: %s %s TASK...", c.CommandPath(), run)
	}
	return run, tasks, err
}

// hasTask reports whether a run has a task, or the shards of a template, of a name.
func (g *globals) hasTask(ctx context.Context, run, name string) (bool, error) {
	s, err := g.runs().Summary(g.log.WithContext(ctx), run)
	if err != nil {
		return false, err
	}
	var r reportHead
	if err := json.Unmarshal(s.Report, &r); err != nil {
		return false, fmt.Errorf("read the report of run %s: %w", run, err)
	}
	return slices.ContainsFunc(r.Tasks, func(t glimpsed) bool {
		return t.ID == name || t.ID == spec.ShardID(name, 1)
	}), nil
}

// taskOf resolves RUN/TASK, or TASK alone.
func (g *globals) taskOf(ctx context.Context, name string) (run, task string, err error) {
	run, task, err = g.findTask(ctx, []string{name})
	if err == nil && task == "" {
		err = usagef("%q names no task: write %s/TASK", name, run)
	}
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
	var rows []console.Row
	for _, id := range ids {
		row, v, err := g.runRow(ctx, id)
		if err == nil {
			err = g.print(say(""), v)
		}
		if err != nil {
			return fmt.Errorf("print run %s: %w", id, err)
		}
		rows = append(rows, row)
	}
	if len(ids) == 0 {
		return g.print(say("There are no runs %s. Start one with: divisi demo\n", g.place()))
	}
	columns := wholeRow
	if isTerminal(g.out) {
		columns = width(g.out)
	}
	return g.print(say("%s\n", strings.Join(console.Runs(rows, columns), "\n")))
}

// wholeRow is a width at which nothing of a run's row is cut, for programs that read it.
const wholeRow = 10_000

// runRow returns the row of a run, and its report with the row's fields; also of one that cannot be read.
func (g *globals) runRow(ctx context.Context, id string) (row console.Row, v any, err error) {
	s, err := g.runs().Summary(ctx, id)
	if err == nil {
		if row, err = console.RowOf(id, unfetched(s), s.Report, now()); err != nil {
			return row, nil, err
		}
		called, err := g.callsIn(s.Report)
		if err == nil {
			v, err = joined(called, row)
		}
		return row, v, err
	}
	row = console.Row{Run: id, Status: "unreadable", Error: g.calls(errorLine(err))}
	if code, _ := orchestrator.CodeOf(err); code == usage.Format {
		row.Status = "other format"
	}
	return row, map[string]string{"run": id, "state": row.Status, "error": g.calls(worded(err))}, nil
}

// joined adds fields behind those of a JSON object.
func joined(object json.RawMessage, fields any) (json.RawMessage, error) {
	more, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the row of a run: %w", err)
	}
	out := bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}"))
	return slices.Concat(out, []byte(","), more[1:]), nil
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
