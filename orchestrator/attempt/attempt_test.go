package attempt

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
)

// newRun is a run with attempts of two tasks that were tested together, and one of them alone.
func newRun(t *testing.T) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{
		Gate: "test", ExitCode: 1, Verdict: spec.VerdictBaseline, Signatures: []string{"test: old"},
	}}})
	l.Plan(spec.Task{ID: "one", Role: "generator"}, spec.Task{ID: "two", Role: "generator"}, spec.Task{ID: "late", Role: "generator"})
	for _, id := range []string{"one", "two"} {
		l.Dispatched(id, "generator", 1, "b")
		r := runtest.Patched("c-"+id, "tree-"+id, "b")
		r.Patch.Files = []string{id + "/x.go"}
		l.Ended(id, 1, r)
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	tested := func(number int, tree string, tasks ...string) {
		d := run.LandingData{Batch: number, State: run.LandingTesting, Old: "b", Head: "h", Tree: tree}
		for _, id := range tasks {
			d.Tasks = append(d.Tasks, run.Landed{Task: id, Attempt: 1, Commit: "c"})
		}
		id := run.BatchTask + map[int]string{1: "-1", 2: "-2"}[number]
		d.Dispatch = &run.Dispatch{Task: id, Attempt: 1, Role: "tester", Head: "h", Gates: []string{"test"}}
		l.Append("", d)
		l.Agent(id, 1, "receipt", spec.Receipt{
			Gate: "test", Command: []string{"t"}, ExitCode: 1, Tree: tree, Verdict: spec.VerdictFail, Duration: time.Second,
			Signatures: []string{"test: of one", "test: of two", "test: old"}, Output: "output-gone", Tail: "the end",
			Paths: map[string][]string{"test: of one": {"one"}, "test: of two": {"two"}},
		})
	}
	tested(1, "tree-both", "one", "two")
	tested(2, "tree-one", "one")
	for _, number := range []int{1, 2} { // what tested an attempt is told when it has ended, too
		l.Append("", run.LandingData{Batch: number, State: run.LandingDropped})
	}
	return l
}

func TestALogHasTheGatesOfAnAttemptAndWhatLedToIt(t *testing.T) {
	t.Parallel()
	l := newRun(t)
	l.Append("one", run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Class: "gate", Message: "red"}})
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	both := Gate{
		Receipt: spec.Receipt{
			Gate: "test", Command: []string{"t"}, ExitCode: 1, Tree: "tree-both", Verdict: spec.VerdictFail, Duration: time.Second,
			Output: "output-gone",
		},
		Batch: 1, With: []string{"two"}, New: 2, Failures: []string{"test: of one"},
		Output: "the end", Lost: `get object "output-gone": bus: no such object`,
	}
	alone := both
	alone.Tree, alone.Batch, alone.With, alone.Failures = "tree-one", 2, nil, []string{"test: of one", "test: of two"}
	other := both
	other.With, other.Failures = []string{"one"}, []string{"test: of two"}
	for task, want := range map[string]*Log{
		"one": {Rejected: "red", Gates: []Gate{both, alone}}, "two": {Gates: []Gate{other}},
	} {
		a := &Attempt{st: l.State, bus: b, task: task}
		require.NoError(t, a.choose(0))
		log, err := a.Log(t.Context())
		require.NoError(t, err)
		for i := range log.Gates {
			log.Gates[i].Pos = 0
		}
		want.Run, want.Task, want.Attempt, want.Role, want.Status = "r1", task, 1, "generator", spec.StatusDone
		require.Equal(t, want, log)
	}

	require.NoError(t, b.Put(t.Context(), "output-gone", []byte("all of it\n\xff")))
	a := &Attempt{st: l.State, bus: b, task: "two"}
	require.NoError(t, a.choose(1))
	log, err := a.Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, "all of it\n\uFFFD", log.Gates[0].Output)
	require.Empty(t, log.Gates[0].Lost)
}

// An attempt whose patch is that of the one before was not tested again: its log has the runs that decided.
func TestALogHasTheRunsThatDecided(t *testing.T) {
	t.Parallel()
	l := newRun(t)
	for number, r := range []spec.Result{runtest.Patched("c-2", "tree-two", "b"), runtest.Patched("c-3", "tree-new", "b")} {
		l.Dispatched("two", "generator", number+2, "b")
		l.Ended("two", number+2, r)
	}
	a := &Attempt{st: l.State, task: "two"}
	for number, want := range map[int]int{1: 1, 2: 1, 3: 3} {
		require.NoError(t, a.choose(number))
		require.Equal(t, want, a.decided())
	}
}

func TestWhatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	l := newRun(t)
	for _, c := range []struct {
		task   string
		number int
		want   string
	}{
		{"oen", 0, `run r1 has no task "oen" (did you mean "one"?)`},
		{"late", 0, "late has no attempt: it was not started and is pending"},
		{"one", 3, "one has no attempt 3\nName its newest one: r1/one/1"},
	} {
		err := (&Attempt{st: l.State, task: c.task}).choose(c.number)
		require.ErrorAs(t, err, new(*usage.Error))
		require.EqualError(t, err, c.want)
	}
	l.Dispatched("two", "generator", 2, "b")
	a := &Attempt{st: l.State, task: "two"}
	require.NoError(t, a.choose(0))
	_, err := a.Diff(t.Context(), false)
	require.EqualError(t, err, "two/2 has no patch: it has no result yet")
	var coded *usage.CodedError
	require.ErrorAs(t, err, &coded)
	require.Equal(t, usage.Log, coded.Code)
	require.Equal(t, []any{"r1/two/2"}, coded.Values)
	l.Ended("two", 2, runtest.Failed("loop", "it went in circles"))
	_, err = a.Diff(t.Context(), false)
	require.ErrorAs(t, err, new(*usage.Error))
	require.ErrorContains(t, err, "two/2 has no patch: it ended as failed: it went in circles")
}
