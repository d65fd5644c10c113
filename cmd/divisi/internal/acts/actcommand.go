package acts

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
)

// actCommand is a command that is made of the arguments of an act: RUN with its tasks, then each argument that is needed. What
// may be left out is a flag.
type actCommand struct {
	*Globals

	entry *act.Entry
	takes *jsonschema.Schema
	// behind are the arguments behind RUN and its tasks.
	behind []string
}

// NewAct makes the command of an act of the table.
func (g *Globals) NewAct(name string) *cobra.Command {
	h, a := actHelps[name], &actCommand{Globals: g, entry: act.Find(name)}
	a.takes = a.entry.Schema()
	for _, name := range a.takes.PropertyOrder {
		if name != "task" && name != "tasks" && a.needs(name) {
			a.behind = append(a.behind, name)
		}
	}
	c := &cobra.Command{
		Short: cmp.Or(h.short, strings.TrimSuffix(a.entry.Help, ".")),
		Long:  cmp.Or(h.long, a.entry.Help),
		RunE:  a.run,
	}
	if a.entry.Who&act.Owner != 0 {
		c.Annotations = map[string]string{cli.AtServer: "true"}
	}
	own := path.Base(strings.ReplaceAll(a.entry.Called, " ", "/"))
	c.Use = strings.Join(append([]string{own, a.begin()}, upper(a.behind)...), " ")
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

// AddActs adds a command for each act of the table that no other one does, and has the help of each tell how it is undone.
func (g *Globals) AddActs(root *cobra.Command) {
	for _, e := range act.All() {
		if own := act.Find(e.Called); e.Doors&act.Command == 0 || own != nil && own != e {
			continue
		}
		c, _, err := root.Find(strings.Fields(e.Called))
		if err != nil || c == root {
			c = g.NewAct(e.Name)
			c.GroupID = Group
			root.AddCommand(c)
		}
		text, codes, _ := strings.Cut(c.Long, "\n\nExit codes:")
		if c.Long = strings.TrimSpace(text) + "\n\n" + e.Undone(act.InTerminal); codes != "" {
			c.Long += "\n\nExit codes:" + codes
		}
	}
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
	what, err := a.entry.With(given)
	if err != nil {
		return usage.Errorf("%v", err)
	}
	return a.Act(c.Context(), what, run)
}

// of resolves the run, and its tasks among the arguments of the act.
func (a *actCommand) of(c *cobra.Command, args []string) (run string, given map[string]any, err error) {
	var task string
	var tasks []string
	switch props := a.takes.Properties; {
	case a.needs("tasks"):
		run, tasks, err = a.SomeTasks(c, args)
	case props["tasks"] != nil:
		run, tasks, err = a.FindTasks(c.Context(), args)
	case a.needs("task"):
		run, task, err = a.TaskOf(c.Context(), args[0])
	case props["task"] != nil:
		run, task, err = a.FindTask(c.Context(), args)
	default:
		run, err = a.FindRun(c.Context(), args)
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
