package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/spec"
	"divisi/internal/usage"
)

// FindTask resolves RUN[/TASK], TASK alone for a task of the newest run, where no run ends with such a name, or nothing at all:
// the newest run.
func (g *Globals) FindTask(ctx context.Context, args []string) (run, task string, err error) {
	if len(args) == 0 {
		run, err = g.FindRun(ctx, nil)
		return run, "", err
	}
	name, task, parted := strings.Cut(args[0], "/")
	if parted && task == "" {
		return "", "", usage.Errorf("%q has no task after the slash: is a variable not set?", args[0])
	}
	if parted {
		run, err = g.FindRun(ctx, []string{name})
		return run, task, err
	}
	ids, err := g.Runs().List(ctx)
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
	if run, err = g.FindRun(ctx, args[:1]); err != nil && unread != nil {
		err = unread
	}
	return run, "", err
}

// FindTasks resolves RUN[/TASK] TASK..., or TASK... of the newest run.
func (g *Globals) FindTasks(ctx context.Context, args []string) (run string, tasks []string, err error) {
	run, task, err := g.FindTask(ctx, args[:1])
	if task != "" {
		tasks = append(tasks, task)
	}
	return run, append(tasks, args[1:]...), err
}

// SomeTasks resolves what findTasks does, for a command that does nothing with a whole run.
func (g *Globals) SomeTasks(c *cobra.Command, args []string) (run string, tasks []string, err error) {
	run, tasks, err = g.FindTasks(c.Context(), args)
	if err == nil && len(tasks) == 0 {
		err = usage.Errorf("name the tasks: %s %s TASK...", c.CommandPath(), run)
	}
	return run, tasks, err
}

// hasTask reports whether a run has a task, or the shards of a template, of a name.
func (g *Globals) hasTask(ctx context.Context, run, name string) (bool, error) {
	s, err := g.Runs().Summary(g.Log.WithContext(ctx), run)
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

// TaskOf resolves RUN/TASK, or TASK alone.
func (g *Globals) TaskOf(ctx context.Context, name string) (run, task string, err error) {
	run, task, err = g.FindTask(ctx, []string{name})
	if err == nil && task == "" {
		err = usage.Errorf("%q names no task: write %s/TASK", name, run)
	}
	return run, task, err
}

// FindRun resolves a run's id, a part of it that only one run has, or nothing at all: the newest run. A name that is there and
// empty is most likely a variable that is not set, and must not become the newest run.
func (g *Globals) FindRun(ctx context.Context, args []string) (string, error) {
	if len(args) > 0 && args[0] == "" {
		return "", usage.Errorf("the name of the run is empty: is a variable not set? See: divisi runs")
	}
	ids, err := g.Runs().List(ctx)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", usage.Errorf("there are no runs %s; start one with: divisi demo", g.Place())
	}
	if len(args) == 0 {
		return ids[0], nil
	}
	if slices.Contains(ids, args[0]) {
		return args[0], nil
	}
	if id, err := Only(ids, args[0], strings.Contains); id != "" || err != nil {
		return id, err
	}
	return "", usage.Errorf("there is no run %q%s\nSee: divisi runs", args[0], Nearest(args[0], ids))
}

// Only returns the one id that a name means; "" for none. A name that could be several is an error.
func Only(ids []string, name string, means func(id, name string) bool) (string, error) {
	found := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return name == "" || !means(id, name) })
	if len(found) > 1 {
		return "", usage.Errorf("%q could be any of %s", name, strings.Join(found, ", "))
	}
	return strings.Join(found, ""), nil
}
