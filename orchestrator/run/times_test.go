package run_test

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

// Each event is a second after the one before it, and the first is a second after the run was created.
func TestTimesOfParallelAgents(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"}, spec.Task{ID: "b", Role: "generator"})
	l.Dispatched("a", "generator", 1, "c")
	l.Dispatched("b", "generator", 1, "c")
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1}) // 5
	l.Agent("b", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent("a", 1, contextscope.KindUsage, wire.Spent{Took: time.Second})
	l.Agent("a", 1, contextscope.KindTurn, wire.Turn{}) // 8
	l.Agent("b", 1, contextscope.KindUsage, wire.Spent{Took: 2500 * time.Millisecond})
	l.Agent("b", 1, contextscope.KindTurn, wire.Turn{}) // 10
	l.Agent("b", 1, contextscope.KindRequest, wire.Request{ID: "q", Kind: wire.RequestAsk})
	l.Agent("a", 1, contextscope.KindTool, wire.Tooled{})
	l.Agent("b", 1, contextscope.KindTool, wire.Tooled{})
	l.Ended("a", 1, spec.Result{Status: spec.StatusDone, Slot: 500 * time.Millisecond})
	l.Ended("b", 1, spec.Result{Status: spec.StatusDone, Queued: 200 * time.Millisecond, Slot: 100 * time.Millisecond})
	l.Gates("--batch-1", 1, "c") // 16
	l.Agent("--batch-1", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Ended("--batch-1", 1, spec.Result{Status: spec.StatusDone, Queued: 300 * time.Millisecond, Slot: 200 * time.Millisecond})

	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	require.Equal(t, [...]time.Duration{run.Models: ms(3500), run.Slots: ms(800), run.Tools: ms(5000), run.Gates: ms(500)}, l.Times.Sums)
	require.Equal(t, ms(11_000-5500+11_000-3600+2000-700), l.Times.Waited)
}

func TestTimesLeaveOutWhenNoProcessHeldTheRun(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles()}, run.Running)
	l.Append("", run.Data{Epoch: 1})
	require.Zero(t, l.Times.Down)
	l.Append("", run.Data{State: run.Stopped})
	l.Append("", run.Data{Notices: []string{"a person answers"}})
	l.Append("", run.Data{State: run.Running, Epoch: 2})
	require.Equal(t, 2*time.Second, l.Times.Down)
	l.Append("", run.Data{Epoch: 3}) // it was killed
	require.Equal(t, 3*time.Second, l.Times.Down)
}

// A delivery that takes over runs the calls of the newest turn again. What was between the two deliveries is no work and no wait.
func TestTimesOfAnAttemptThatWasTakenOver(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles()}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	l.Dispatched("a", "generator", 1, "c") // 3
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent("a", 1, contextscope.KindTurn, wire.Turn{})
	l.Append("", run.Data{Epoch: 2}) // 6
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 2})
	l.Agent("a", 1, contextscope.KindTool, wire.Tooled{}) // 8
	l.Ended("a", 1, spec.Result{Status: spec.StatusDone})
	require.Equal(t, time.Second, l.Times.Sums[run.Tools])
	require.Equal(t, 4*time.Second, l.Times.Waited)
}

// A command has no turns: all of its attempt but its place is its work.
func TestTimesOfACommand(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles()}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	l.Dispatched("a", "generator", 1, "c")
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Ended("a", 1, spec.Result{Status: spec.StatusDone, Queued: 500 * time.Millisecond})
	require.Equal(t, 500*time.Millisecond, l.Times.Sums[run.Tools])
	require.Equal(t, 1500*time.Millisecond, l.Times.Waited)
}
