package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"divisi/internal/usage"
	"divisi/orchestrator/act"
)

// actCommand is a command that is made of the arguments of an act: RUN with its tasks, then each argument that is needed. What
// may be left out is a flag.
type actCommand struct {
	*globals

	entry *act.Entry
	takes *jsonschema.Schema
	// behind are the arguments behind RUN and its tasks.
	behind []string
}

func (g *globals) newAct(name string) *cobra.Command {
	h, a := actHelps[name], &actCommand{globals: g, entry: act.Find(name)}
	a.takes = a.entry.Schema()
	for _, name := range a.takes.PropertyOrder {
		if name != "task" && name != "tasks" && a.needs(name) {
			a.behind = append(a.behind, name)
		}
	}
	c := &cobra.Command{
		Short: cmp.Or(h.short, strings.TrimSuffix(a.entry.Help, ".")),
		Long:  strings.TrimSpace(cmp.Or(h.long, a.entry.Help) + "\n\n" + undone(a.entry)),
		RunE:  a.run,
	}
	if a.entry.Who&act.Owner != 0 {
		c.Annotations = map[string]string{atServer: "true"}
	}
	c.Use = strings.Join(append([]string{strings.ReplaceAll(name, "_", "-"), a.begin()}, upper(a.behind)...), " ")
	c.Example = cmp.Or(h.example, "  divisi "+strings.NewReplacer("[RUN]", "1f2e", "RUN", "1f2e", "[/TASK] [TASK...]", "/TASK",
		"[/TASK]", "/TASK").Replace(c.Use))
	for name, p := range a.takes.Properties {
		does := strings.TrimSuffix(strings.ToLower(p.Description[:1])+p.Description[1:], ".")
		switch {
		case a.needs(name) || name == "task" || name == "tasks":
		case p.Type == "boolean":
			c.Flags().Bool(name, false, does)
		case p.Type == "integer":
			c.Flags().Int(name, 0, does)
		default:
			c.Flags().String(name, "", does)
		}
	}
	return c
}

// addActs adds a command for each act of the table that no other one does.
func (g *globals) addActs(root *cobra.Command) {
	for _, e := range act.All() {
		c, _, err := root.Find([]string{e.Name})
		if e.Doors&act.Command == 0 || actsIn[e.Name] != "" || err == nil && c != root {
			continue
		}
		made := g.newAct(e.Name)
		made.GroupID = decides
		root.AddCommand(made)
	}
}

// undone says by which command an act is undone.
func undone(e *act.Entry) string {
	return strings.Replace(e.Undone(), "with "+e.Undo, "with divisi "+cmp.Or(actsIn[e.Undo], e.Undo), 1)
}

func (a *actCommand) needs(name string) bool { return slices.Contains(a.takes.Required, name) }

// begin is how RUN and its tasks are given.
func (a *actCommand) begin() string {
	switch {
	case a.takes.Properties["tasks"] != nil:
		return "RUN[/TASK] [TASK...]"
	case a.needs("task"):
		return "RUN/TASK"
	case a.takes.Properties["task"] != nil:
		return "RUN[/TASK]"
	case len(a.behind) == 0:
		return "[RUN]"
	}
	return "RUN"
}

func (a *actCommand) run(c *cobra.Command, args []string) error {
	at := max(0, len(args)-len(a.behind))
	run, given, err := a.of(c, args[:at])
	if err != nil {
		return err
	}
	for i, name := range a.behind {
		given[name] = args[at+i]
	}
	for name, p := range a.takes.Properties {
		switch f := c.Flags().Lookup(name); {
		case f == nil || !f.Changed:
		case p.Type == "string":
			given[name] = f.Value.String()
		default:
			given[name] = json.RawMessage(f.Value.String())
		}
	}
	data, err := json.Marshal(given)
	if err != nil {
		return err
	}
	q := act.Request{Act: a.entry.Name, Args: data}
	what, err := q.Read(act.Local)
	if err != nil {
		return usage.Errorf("%v", err)
	}
	return a.act(c.Context(), what, run)
}

// of resolves the run, and its tasks among the arguments of the act.
func (a *actCommand) of(c *cobra.Command, args []string) (run string, given map[string]any, err error) {
	var task string
	var tasks []string
	switch props := a.takes.Properties; {
	case a.needs("tasks"):
		run, tasks, err = a.someTasks(c, args)
	case props["tasks"] != nil:
		run, tasks, err = a.findTasks(c.Context(), args)
	case a.needs("task"):
		run, task, err = a.taskOf(c.Context(), args[0])
	case props["task"] != nil:
		run, task, err = a.findTask(c.Context(), args)
	default:
		run, err = a.findRun(c.Context(), args)
	}
	given = map[string]any{}
	if len(tasks) > 0 {
		given["tasks"] = tasks
	}
	if task != "" {
		given["task"] = task
	}
	return run, given, err
}

func upper(names []string) []string {
	out := slices.Clone(names)
	for i := range out {
		out[i] = strings.ToUpper(out[i])
	}
	return out
}
