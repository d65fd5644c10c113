package request_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
)

// ordered is a run whose plan has the tasks a to d and a change set. Task a was parked after an attempt, c has never begun; the
// change set, of e and f, has begun and was parked.
func ordered(t *testing.T) (*runtest.Log, spec.Plan) {
	t.Helper()
	task := func(id, set string, after ...string) spec.Task {
		return spec.Task{ID: id, Role: "generator", Brief: "x", Files: []string{id}, ChangeSet: set, DependsOn: after}
	}
	was := spec.Plan{Tasks: []spec.Task{
		task("a", ""), task("b", ""), task("c", "", "a"), task("d", "", "b"), task("e", "set"), task("f", "set"),
	}}
	l := runtest.New(t, run.Spec{Base: "b", Plan: &was, Roles: runtest.Roles(), Parallel: 4}, run.Running)
	l.Plan(was.Tasks...)
	for _, id := range []string{"a", "e"} {
		l.Dispatched(id, "generator", 1, "h")
		l.Ended(id, 1, runtest.Failed("gate", "red"))
	}
	l.Append("a", run.TaskData{State: run.TaskParked, Reason: "red"})
	l.Append("b", run.TaskData{State: run.TaskParked, Reason: "red"})
	for _, id := range []string{"e", "f"} {
		l.Append(id, run.TaskData{State: run.TaskParked, Reason: "red"})
	}
	return l, was
}

// edit is a plan with what one of its tasks, by its place, depends on.
func edit(p spec.Plan, at int, after ...string) spec.Plan {
	p.Tasks = slices.Clone(p.Tasks)
	p.Tasks[at].DependsOn = after
	return p
}

// A task that is tried again waits for what the edited plan has it wait for, also for a task that the plan has gained and that
// changes its file first.
func TestRetryTakesEditedDependencies(t *testing.T) {
	t.Parallel()
	l, was := ordered(t)
	first := spec.Task{ID: "first", Role: "generator", Brief: "x", Files: []string{"a"}}
	now := edit(was, 0, "first", "b")
	now.Tasks = append(now.Tasks, first)
	gained := run.PlanData{By: run.ByFile, Tasks: []spec.Task{first}}
	actions, ids, err := request.Retry(&l.Agenda, l.Works, []string{"a", "b"}, again, &now, gained)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, ids)
	l.Do(actions)
	a := l.Tasks.ByID["a"]
	require.Equal(t, []string{"first", "b"}, a.After)
	require.Equal(t, []string{"first", "b"}, a.Task.Inputs, "what it is given is what it depends on")
	begun, _ := schedule.Ready(l.State)
	require.Contains(t, begun, "first", "the task that waits for it does not hold their file")
	require.NotContains(t, begun, "a")
}

// A task that waits for its first attempt is no task to be tried again, and gets its new order too; none is an order as well.
func TestRetryEditsWhatHasNotBegun(t *testing.T) {
	t.Parallel()
	l, was := ordered(t)
	now := edit(was, 2)
	actions, ids, err := request.Retry(&l.Agenda, l.Works, []string{"b"}, again, &now, run.PlanData{})
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, ids)
	l.Do(actions)
	require.Equal(t, run.TaskPending, l.Tasks.ByID["c"].State)
	require.Empty(t, l.Tasks.ByID["c"].After)
}

func TestRetryRefusesAnOrderThatNeverEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p spec.Plan) spec.Plan
		refs   []string
		no     string
	}{
		"a circle with a task that keeps its order": {
			func(p spec.Plan) spec.Plan { return edit(edit(p, 1, "d"), 3) },
			[]string{"b"},
			"the tasks wait for each other in a circle: b -> d -> b",
		},
		"an unknown task": {
			func(p spec.Plan) spec.Plan { return edit(p, 0, "gone") }, []string{"a"}, "a depends on gone, which has no task in run r1",
		},
		"a task of the same set": {
			func(p spec.Plan) spec.Plan { return edit(p, 4, "f") },
			[]string{"e"},
			"e depends on f of the same change set, which lands with it",
		},
		"a set that holds its files": {
			func(p spec.Plan) spec.Plan { return edit(p, 4, "b") },
			[]string{"e", "b"},
			"e cannot wait for b: its change set set has begun, and keeps its files until it has landed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, was := ordered(t)
			if name == "a circle with a task that keeps its order" { // it runs, so that nothing revises it
				l.Append("b", run.TaskData{State: run.TaskPending})
				l.Dispatched("d", "generator", 1, "h")
				l.Append("b", run.TaskData{State: run.TaskParked, Reason: "red"})
			}
			now := c.change(was)
			_, _, err := request.Retry(&l.Agenda, l.Works, c.refs, again, &now, run.PlanData{})
			require.EqualError(t, err, "the edited plan: "+c.no)
			require.ErrorAs(t, err, new(*request.RefusedError))
		})
	}
}
