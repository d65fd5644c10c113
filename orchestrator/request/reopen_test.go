package request_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// reopened is a run with tasks that were given up, in all ways.
func reopened(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	task := func(id, set string, after ...string) spec.Task {
		return spec.Task{ID: id, Role: "generator", ChangeSet: set, DependsOn: after}
	}
	shard := func(id string) spec.Task { return spec.Task{ID: id, Role: "generator", ShardOf: "s"} }
	l.Plan(
		shard("s-1"), shard("s-2"), task("last", "", "s"), task("other", "", "s", "gone"), task("gone", ""),
		task("a", "set"), task("b", "set"), task("c", "set"), task("landed", ""), task("runs", ""),
	)
	park := func(id string, f *spec.Fault) {
		l.Append(id, run.TaskData{State: run.TaskParked, Reason: "why " + id, Fault: f})
	}
	red := &spec.Fault{Class: "gate", Message: "red"}
	for _, id := range []string{"s-1", "s-2", "a", "b"} {
		l.Dispatched(id, "generator", 1, "h")
		l.Ended(id, 1, runtest.Patched("c-"+id, "t", "h"))
	}
	park("s-1", red)
	l.Append("s-2", run.TaskData{State: run.TaskLanded})
	l.Append("gone", run.TaskData{State: run.TaskCancelled})
	park("last", nil)
	park("other", nil)
	l.Append("b", run.TaskData{State: run.TaskAccepted})
	park("a", red)
	park("b", nil)
	park("c", nil)
	l.Append("landed", run.TaskData{State: run.TaskLanded})
	l.Dispatched("runs", "generator", 1, "h")
	return l
}

var again = run.Revision{By: wire.Person("ada")}

func TestRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refs []string
		want []string
		no   string
	}{
		"a template opens its shards and what waited for them alone": {
			refs: []string{"s"}, want: []string{"task last pending", "task s-1 pending tried again by user"},
		},
		"with what was cancelled more can go on": {
			refs: []string{"s-1", "gone"},
			want: []string{
				"task last pending", "task other pending", "task s-1 pending tried again by user",
				"task gone pending tried again by user",
			},
		},
		"a set is opened as a whole, and a patch that was handed in waits again": {
			refs: []string{"a"},
			want: []string{"task b accepted", "task c pending", "task a pending tried again by user"},
		},
		"what runs":           {refs: []string{"s-1", "runs"}, no: "runs is running: only a parked or cancelled task can be tried again"},
		"what has landed":     {refs: []string{"landed"}, no: "landed is landed: only a parked or cancelled task can be tried again"},
		"what there is not":   {refs: []string{"land"}, no: `run r1 has no task "land" (did you mean "landed"?)`},
		"the run's own tasks": {refs: []string{run.FinalTask}, no: `run r1 has no task "--final"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := reopened(t)
			actions, _, err := request.Retry(&l.Agenda, l.Works, c.refs, again, nil, run.PlanData{})
			if c.no != "" {
				require.EqualError(t, err, c.no)
				require.ErrorAs(t, err, new(*request.RefusedError))
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, runtest.Describe(actions))
		})
	}
}

func TestRetryOfARunThatHasEnded(t *testing.T) {
	t.Parallel()
	l := reopened(t)
	_, _, err := request.Retry(&l.Agenda, l.Works, nil, again, nil, run.PlanData{})
	require.NoError(t, err)
	l.Append("", run.Data{State: run.Parked, Final: []spec.Receipt{{Gate: "g"}}})
	actions, opened, err := request.Retry(&l.Agenda, l.Works, nil, again, nil, run.PlanData{})
	require.NoError(t, err)
	require.Equal(t, []string{"s-1", "last", "other", "a", "c"}, opened)
	require.Equal(t, "run stopped tried again by user", runtest.Describe(actions)[0])
	for _, a := range actions {
		e, ok := a.(run.Append)
		require.True(t, ok)
		l.Append(e.Task, e.Data)
	}
	l.Append("", run.Data{State: run.Running})
	require.Empty(t, l.Final, "the final gates have to run again")
	s1 := l.Tasks.ByID["s-1"]
	require.Equal(t, []any{run.TaskPending, 1, 1}, []any{s1.State, len(s1.Faults), s1.Fresh})
	met, lost, _ := l.Tasks.Depends("s")
	require.Equal(t, []any{false, (*run.Task)(nil)}, []any{met, lost})
	require.Nil(t, l.Tasks.Set(l.Tasks.ByID["a"]).Lost)
	require.False(t, l.Tasks.NoneGivenUp(), "gone was cancelled and stays so")

	l.Append("", run.Data{State: run.Cancelled})
	_, _, err = request.Retry(&l.Agenda, l.Works, nil, again, nil, run.PlanData{})
	require.EqualError(t, err, "run r1 was cancelled, which is for good: start another run")
}

func TestSkip(t *testing.T) {
	t.Parallel()
	l := reopened(t)
	actions, skipped, err := request.Skip(&l.Agenda, l.Works, []string{"s", "a", "runs"}, again, "not needed")
	require.NoError(t, err)
	require.Equal(t, []string{"s-1", "a", "runs"}, skipped)
	require.Equal(t, []string{
		"task s-1 skipped not needed", "task a skipped not needed", "task runs skipped not needed", "take back runs", "tell runs",
		"task last pending", "task b accepted",
		"task c pending",
	}, runtest.Describe(actions))
	for _, a := range actions {
		if e, ok := a.(run.Append); ok {
			l.Append(e.Task, e.Data)
		}
	}
	met, lost, _ := l.Tasks.Depends("s")
	require.Equal(t, []any{true, (*run.Task)(nil)}, []any{met, lost})
	require.Equal(t, []*run.Task{l.Tasks.ByID["b"], l.Tasks.ByID["c"]}, l.Tasks.Set(l.Tasks.ByID["b"]).Members)
	require.Nil(t, l.Tasks.Set(l.Tasks.ByID["b"]).Lost)
	require.False(t, l.Works["runs"].Outstanding())
	_, _, err = request.Skip(&l.Agenda, l.Works, []string{"landed"}, again, "x")
	require.EqualError(t, err, "landed has ended and is landed: there is nothing to skip")
}

// What a person has edited in the plan file counts for the tasks that are tried again, unless the retry has its own.
func TestRetryTakesTheEditedPlan(t *testing.T) {
	t.Parallel()
	was := spec.Plan{Tasks: []spec.Task{
		{ID: "a", Role: "generator", Brief: "old", Files: []string{"a"}},
		{ID: "s", Role: "generator", Brief: "old", Shard: &spec.Shard{}},
		{ID: "b", Role: "generator", Brief: "old", Files: []string{"b"}, ChangeSet: "set"},
		{ID: "c", Role: "generator", Brief: "old", Files: []string{"c"}, ChangeSet: "set"},
	}}
	l := runtest.New(t, run.Spec{Base: "b", Plan: &was, Roles: runtest.Roles(), Parallel: 4}, run.Running)
	expanded := slices.Clone(was.Tasks)
	expanded[1] = spec.Task{ID: "s-1", ShardOf: "s", Role: "generator", Brief: "old", Files: []string{"s"}}
	l.Plan(expanded...)
	for _, task := range expanded {
		l.Append(task.ID, run.TaskData{State: run.TaskParked, Reason: "red"})
	}
	edit := func(change func(p *spec.Plan)) *spec.Plan {
		p := spec.Plan{Tasks: slices.Clone(was.Tasks)}
		change(&p)
		return &p
	}
	for name, c := range map[string]struct {
		plan *spec.Plan
		ref  string
		r    run.Revision
		want run.Revision
		no   string
	}{
		"nothing": {plan: edit(func(*spec.Plan) {}), ref: "a"},
		"brief, role, constraints and files": {
			plan: edit(func(p *spec.Plan) {
				p.Constraints = []string{"all"}
				p.Tasks[0] = spec.Task{ID: "a", Role: "reader", Brief: "new", Files: []string{"x"}, Constraints: []string{"one"}}
			}),
			ref: "a", want: run.Revision{
				Brief: "new", Role: "reader", Constraints: &[]string{"all", "one"}, Files: &[]string{"x"},
			},
		},
		"words of the command line go first": {
			plan: edit(func(p *spec.Plan) { p.Tasks[0].Brief = "new" }), ref: "a", r: run.Revision{Brief: "mine"},
			want: run.Revision{Brief: "mine"},
		},
		"a template": {
			plan: edit(func(p *spec.Plan) { p.Tasks[1].Brief = "new" }), ref: "s-1", want: run.Revision{Brief: "new"},
		},
		"a task that is gone": {plan: edit(func(p *spec.Plan) { p.Tasks = p.Tasks[1:] }), ref: "a"},
		"a file of another task of the set": {
			plan: edit(func(p *spec.Plan) { p.Tasks[2].Files = []string{"b", "c"} }), ref: "b",
			no: "the edited plan: c belongs to c of the same change set: each file belongs to one of its tasks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.r.By = wire.Person("ada")
			c.want.By = wire.Person("ada")
			actions, _, err := request.Retry(&l.Agenda, l.Works, []string{c.ref}, c.r, c.plan, run.PlanData{})
			if c.no != "" {
				require.EqualError(t, err, c.no)
				return
			}
			require.NoError(t, err)
			e, ok := actions[0].(run.Append)
			require.True(t, ok)
			require.Equal(t, run.TaskData{State: run.TaskPending, Reason: e.Data.(run.TaskData).Reason, Revision: &c.want}, e.Data) //nolint:forcetypeassert // compared
		})
	}
}

// What was asked about a patch is asked in the same way: an accepted skip had become proven.
func TestRetryKeepsTheWholeDoubt(t *testing.T) {
	t.Parallel()
	l := reopened(t)
	doubt := run.Doubt{
		Evidence: []string{"more tests are skipped"}, Skips: "more tests are skipped", Missing: map[string]string{"test": "object"}, Unprovable: true,
	}
	l.Append("b", run.TaskData{State: run.TaskHeld, Doubt: &doubt})
	l.Append("b", run.TaskData{State: run.TaskParked, Reason: "its change set was parked"})
	actions, _, err := request.Retry(&l.Agenda, l.Works, []string{"a"}, again, nil, run.PlanData{})
	require.NoError(t, err)
	l.Do(actions)
	held := l.Tasks.ByID["b"].Doubt()
	require.NotNil(t, held)
	require.Equal(t, doubt.Skips, held.Skips)
	require.Equal(t, doubt.Missing, held.Missing)
	require.True(t, held.Unprovable)
}
