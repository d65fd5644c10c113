package plan

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

// What a plan file has gained is added; what has landed stays, and what would change it is refused by name.
func TestGain(t *testing.T) {
	t.Parallel()
	was := spec.Plan{Tasks: []spec.Task{
		{ID: "a", Role: "generator", Brief: "x", Files: []string{"main.go"}},
		{ID: "s", Role: "generator", Brief: "x", Shard: &spec.Shard{By: "file", Glob: "a/*.go"}, ChangeSet: "set"},
		{ID: "b", Role: "generator", Brief: "x", Files: []string{"b/x.go"}, ChangeSet: "set"},
	}}
	l := runtest.New(t, run.Spec{Base: "b", Run: "r1", Plan: &was, Roles: runtest.Roles(), Parallel: 4}, run.Running)
	data, problems, err := Prepare(t.Context(), was, &l.Agenda, l.Works, sampleTree())
	require.NoError(t, err)
	require.Empty(t, problems)
	data.By = run.ByFile
	l.Append("", data)
	l.Append("a", run.TaskData{State: run.TaskLanded})
	for _, id := range []string{"s-001", "s-002", "b"} {
		l.Append(id, run.TaskData{State: run.TaskParked, Reason: "red"})
	}
	for name, c := range map[string]struct {
		edit func(p *spec.Plan)
		want []string
		no   string
	}{
		"nothing": {func(*spec.Plan) {}, nil, ""},
		"a task of a parked set": {
			func(p *spec.Plan) {
				p.Tasks = append(p.Tasks, spec.Task{ID: "c", Role: "generator", Brief: "x", Files: []string{"b/y.go"}, ChangeSet: "set"})
			},
			[]string{"c: b/y.go"},
			"",
		},
		"a rule with more files": {
			func(p *spec.Plan) { p.Tasks[1].Shard = &spec.Shard{By: "file", Glob: "{a,c/d}/*.go"} },
			[]string{"s-003: c/d/z.go"},
			"",
		},
		"a rule with fewer files":        {func(p *spec.Plan) { p.Tasks[1].Shard = &spec.Shard{By: "file", Glob: "a/a.go"} }, nil, ""},
		"a rule that finds nothing":      {func(p *spec.Plan) { p.Tasks[1].Shard = &spec.Shard{By: "file", Glob: "*.rs"} }, nil, ""},
		"another brief of a parked task": {func(p *spec.Plan) { p.Tasks[2].Brief = "y" }, nil, ""},
		"a file that moves to a new task": {
			func(p *spec.Plan) {
				p.Tasks[2].Files = []string{"b/y.go"}
				p.Tasks = append(p.Tasks, spec.Task{ID: "c", Role: "generator", Brief: "x", Files: []string{"b/x.go"}, ChangeSet: "set"})
			},
			[]string{"c: b/x.go"},
			"",
		},
		"a file of two tasks of a set": {
			func(p *spec.Plan) {
				p.Tasks = append(p.Tasks, spec.Task{ID: "c", Role: "generator", Brief: "x", Files: []string{"a/a.go"}, ChangeSet: "set"})
			},
			nil, "may both write a/a.go",
		},
		"another brief of what has landed": {
			func(p *spec.Plan) { p.Tasks[0].Brief = "y" }, nil, "a has landed, and its brief changed",
		},
		"what has landed is gone": {func(p *spec.Plan) { p.Tasks = p.Tasks[1:] }, nil, "the task a is gone, and a is landed"},
		"a parked task is gone":   {func(p *spec.Plan) { p.Tasks = p.Tasks[:2] }, nil, "skip it first"},
		"a task becomes a template": {
			func(p *spec.Plan) { p.Tasks[2].Shard = &spec.Shard{By: "file"} }, nil, "b gained or lost its shard rule",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited := spec.Plan{Tasks: slices.Clone(was.Tasks)}
			c.edit(&edited)
			data, problems, err := Gain(t.Context(), edited, &l.Agenda, l.Works, sampleTree())
			require.NoError(t, err)
			if c.no != "" {
				require.Contains(t, (&spec.PlanError{Problems: problems}).Error(), c.no)
				return
			}
			require.Empty(t, problems)
			var got []string
			for _, task := range data.Tasks {
				got = append(got, task.ID+": "+task.Files[0])
			}
			require.Equal(t, c.want, got)
		})
	}
}
