package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func TestWhatPhasesTake(t *testing.T) {
	t.Parallel()
	created := time.Unix(1000, 0)
	l := runtest.New(t, run.Spec{Created: created, Roles: runtest.Roles(), Parallel: 4, Project: spec.Project{Gates: []spec.Gate{{Name: "test"}}}}, run.Preflight)
	at := func(second int) { l.At(created.Add(time.Duration(second) * time.Second)) }
	check := func(ms [5]int64, tokens [5]int) {
		t.Helper()
		for i, p := range Phases(l.State) {
			require.Equal(t, ms[i], p.Milliseconds, p.Name)
			require.Equal(t, tokens[i], p.Tokens, p.Name)
		}
	}
	at(5)
	l.Append("", run.Data{Notices: []string{"setup goes on"}})
	check([5]int64{5000, 0, 0, 0, 0}, [5]int{})
	at(10)
	l.Append("", run.Data{State: run.Planning})
	l.Gates(run.BaselineTask, 1, "b")
	l.Dispatched(run.MasterTask, "master", 1, "b")
	at(20)
	l.Agent(run.MasterTask, 1, contextscope.KindUsage, wire.Spent{Usage: spec.Usage{Output: 7}})
	check([5]int64{20_000, 10_000, 0, 0, 0}, [5]int{1: 7})
	at(30)
	l.Ended(run.BaselineTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "survey", Role: "reader"}, {ID: "a", Role: "generator"}}})
	l.Dispatched("survey", "reader", 1, "b")
	l.Agent("survey", 1, contextscope.KindUsage, wire.Spent{Usage: spec.Usage{Output: 3}})
	at(40)
	l.Append("", run.Data{State: run.Running})
	at(45)
	l.Dispatched("a", "generator", 1, "b")
	l.Agent("a", 1, contextscope.KindUsage, wire.Spent{Usage: spec.Usage{Output: 100}})
	at(60)
	l.Ended("a", 1, runtest.Patched("c", "t", "b"))
	l.Dispatched("a--verify", "reviewer", 1, "b")
	l.Agent("a--verify", 1, contextscope.KindUsage, wire.Spent{Usage: spec.Usage{Output: 20}})
	at(65)
	l.Ended("a--verify", 1, spec.Result{Status: spec.StatusDone})
	check([5]int64{30_000, 30_000, 20_000, 0, 0}, [5]int{1: 10, 2: 120})
	l.Tests(1, "a")
	at(80)
	l.Ended(runtest.BatchWork(1), 1, spec.Result{Status: spec.StatusDone})
	l.Lands(1, "a")
	at(82)
	l.Append("", run.Data{State: run.Final})
	l.Gates(run.FinalTask, 1, "h")
	at(90)
	l.Ended(run.FinalTask, 1, spec.Result{Status: spec.StatusDone})
	at(99)
	l.Append("", run.Data{State: run.Done})
	check([5]int64{30_000, 30_000, 20_000, 15_000, 8000}, [5]int{1: 10, 2: 120})
	sum := 0
	for _, p := range Phases(l.State) {
		sum += p.Tokens
	}
	require.Equal(t, l.Usage.Total(), sum)
}

// A plan file takes no time, and a baseline that an earlier run left neither.
func TestWhatPhasesTakeThatHaveNothingToDo(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	at(4 * time.Second)
	l.Spec.Project.Gates = []spec.Gate{{Name: "test"}}
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	for _, p := range Phases(l.State)[1:] {
		require.Zero(t, p.Milliseconds, p.Name)
	}
}

// A run whose log tells no time of its beginning begins with its first event.
func TestPhasesOfARunWithoutABeginning(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Project: spec.Project{Gates: []spec.Gate{{Name: "test"}}}}, run.Preflight)
	l.At(time.Unix(11, 0))
	l.Append("", run.Data{Notices: []string{"setup goes on"}})
	require.Equal(t, int64(10_000), Phases(l.State)[0].Milliseconds)
	require.InDelta(t, 10, TimesOf(l.State).WallSeconds, 0)
	require.Equal(t, time.Unix(1, 0).UTC(), l.Spec.Created.UTC())
	require.Equal(t, time.Unix(11, 0).UTC(), l.Time.UTC())
}
