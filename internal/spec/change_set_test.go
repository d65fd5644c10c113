package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChangeSets(t *testing.T) {
	t.Parallel()
	member := func(id, set string, after ...string) Task {
		return Task{ID: id, Role: RoleGenerator, Brief: "b", Files: []string{id}, ChangeSet: set, DependsOn: after}
	}
	template := func(id string, change func(*Task)) Task {
		t := member(id, "")
		t.Files, t.Shard = nil, &Shard{By: "file"}
		change(&t)
		return t
	}
	for name, c := range map[string]struct {
		tasks []Task
		had   []Task
		want  string
	}{
		"two":                    {[]Task{member("a", "s"), member("b", "s")}, nil, ""},
		"with a dependency":      {[]Task{member("x", ""), member("a", "s", "x"), member("b", "s")}, nil, ""},
		"one after the other":    {[]Task{member("a", "s"), member("b", "s"), member("c", "u", "a"), member("d", "u")}, nil, ""},
		"a template":             {[]Task{template("a", func(t *Task) { t.Together = true })}, nil, ""},
		"a template and a task":  {[]Task{template("a", func(t *Task) { t.ChangeSet = "s" }), member("b", "s")}, nil, ""},
		"one more of the run's":  {[]Task{member("b", "s")}, []Task{member("a", "s")}, ""},
		"one":                    {[]Task{member("a", "s")}, nil, `tasks[0].change_set: change set "s" has one task: leave change_set out, or give it to the tasks that belong to it`},
		"a bad name":             {[]Task{member("a", "s t"), member("b", "s t")}, nil, `tasks[0].change_set: change set "s t": a name is formed like a task's id (did you mean "s-t"?)`},
		"together without shard": {[]Task{{ID: "a", Role: RoleGenerator, Brief: "b", Together: true}}, nil, `tasks[0].together: together belongs to a task with a shard rule: give each task of the set the same change_set`},
		"two names":              {[]Task{template("a", func(t *Task) { t.Together, t.ChangeSet = true, "s" })}, nil, `tasks[0].together: the template has a change_set: leave together out`},
		"waits for a member":     {[]Task{member("a", "s"), member("b", "s", "a")}, nil, `tasks[1].depends_on: task "b" waits for "a" of the same change set, which lands with it`},
		"waits for a task that waits for it": {
			[]Task{member("a", "s"), member("x", "", "a"), member("b", "s", "x")},
			nil,
			`tasks[0].change_set: the tasks wait for each other in a circle, since a change set lands as one: change set s -> x -> change set s`,
		},
		"two sets that wait for each other": {
			[]Task{member("a", "s"), member("b", "s", "c"), member("c", "u"), member("d", "u", "a")},
			nil,
			`tasks[0].change_set: the tasks wait for each other in a circle, since a change set lands as one: change set s -> change set u -> change set s`,
		},
		"a new one waits for a task that waits for it": {
			[]Task{member("b", "s", "x")},
			[]Task{member("a", "s"), member("x", "", "a")},
			`tasks[0].change_set: the tasks wait for each other in a circle, since a change set lands as one: change set s -> x -> change set s`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := Plan{Tasks: c.tasks}
			env := testEnv()
			env.Tasks = c.had
			if got := said(plan.Validate(env)); c.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.want)
			}
		})
	}
}
