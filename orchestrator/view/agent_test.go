package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/stats"
	"divisi/subagents/wire"
)

func TestWorkers(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	at(time.Second)
	l.Plan(spec.Task{ID: "a", Role: "generator"}, spec.Task{ID: "b", Role: "generator"})
	l.Append("", run.Data{Crew: run.Crew{"w1": {Agents: 2}, "w2": {Agents: 2}}})
	for _, id := range []string{"a", "b"} {
		l.Dispatched(id, "generator", 1, "b")
		at(2 * time.Second)
		l.By("w2", id, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	}
	at(5 * time.Second)
	l.Append("", run.Data{Crew: run.Crew{"w2": {Agents: 2}, "w3": {Agents: 2}}})
	l.By("w2", "a", 1, contextscope.KindProgress, wire.Progress{Doing: "reads"})
	agents := Agents(l.State)
	require.Equal(t, []int64{1_005_000, 1_002_000}, []int64{agents[0].Last, agents[1].Last}, "when each was written about last")
	require.Equal(t, []Worker{{"w2", 2, 1_001_000}, {"w3", 0, 1_005_000}}, Workers(l.State, agents))
	l.Append("", run.Data{State: run.Stopped})
	require.Empty(t, Workers(l.State, Agents(l.State)))
}

// The report of a run that continues counts up to now, and names what runs.
func TestALiveRunIsCountedUpToNow(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles()}, run.Running)
	l.Gates(run.BaselineTask, 1, "c")
	l.Agent(run.BaselineTask, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent(run.BaselineTask, 1, contextscope.KindProgress, wire.Progress{Doing: "gate test: nothing printed for 9m30s"})
	began := l.State.Works[run.BaselineTask].Attempts[1].Began
	r := Live(l.State, time.UnixMilli(began).Add(10*time.Minute))
	require.InDelta(t, float64(began)/1000+600, r.Times.WallSeconds, 0.01)
	require.Contains(t, r.Times.Parts, stats.PhaseTime{Phase: "gates", Seconds: 600})
	require.Equal(t, []string{"--baseline/1 (10m00s) gate test: nothing printed for 9m30s"}, r.Now)
	l.Append("", run.Data{State: run.Done})
	require.Equal(t, Of(l.State), Live(l.State, time.UnixMilli(began).Add(time.Hour)))
}
