package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

const ms = time.Millisecond

// accounted are the parts that are not empty.
func accounted(s *run.State, end time.Duration) map[string]time.Duration {
	out := map[string]time.Duration{}
	for p, took := range accountOf(s, end).spent {
		if took != 0 {
			out[partNames[p]] = took
		}
	}
	return out
}

func TestTheCriticalPathIsWalkedBackFromTheEnd(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	at(100 * ms)
	l.Plan(spec.Task{ID: "a", Role: "generator"}, spec.Task{ID: "b", Role: "generator"}, spec.Task{ID: "c", Role: "generator"})
	at(200 * ms)
	l.Gates(run.BaselineTask, 1, "c")
	for _, id := range []string{"a", "b", "c"} {
		l.Dispatched(id, "generator", 1, "c")
	}
	at(250 * ms)
	for _, id := range []string{"a", "b", "c", run.BaselineTask} {
		l.Agent(id, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	}
	at(400 * ms)
	l.Ended(run.BaselineTask, 1, spec.Result{Status: spec.StatusDone})
	at(1300 * ms)
	l.Agent("b", 1, contextscope.KindUsage, wire.Spent{Took: 900 * ms})
	l.Agent("b", 1, contextscope.KindTurn, wire.Turn{})
	at(1500 * ms)
	l.Agent("b", 1, contextscope.KindTool, wire.Tooled{})
	at(1520 * ms)
	patched := runtest.Patched("c", "t", "b")
	patched.Slot, patched.Queued, patched.Git = 40*ms, 10*ms, 15*ms
	l.Ended("a", 1, patched) // a batch needs b, not a
	l.Ended("b", 1, patched)
	at(1600 * ms)
	l.Ended("c", 1, patched) // too late for the batch
	at(1700 * ms)
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingTesting, Tasks: []run.Landed{{Task: "b", Attempt: 1}},
		Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: "tester"}, Own: run.Own{Landing: 50 * ms, Git: 20 * ms, Seal: 5 * ms, Log: 3 * ms},
	})
	at(1710 * ms)
	l.Agent("--batch-1", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	at(2 * time.Second)
	l.Ended("--batch-1", 1, spec.Result{
		Status: spec.StatusDone, Slot: 30 * ms, Receipts: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: 250 * ms}},
	})
	at(2040 * ms)
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Own: run.Own{Landing: 25 * ms}})
	require.Equal(t, map[string]time.Duration{
		"preflight": 200 * ms, "model": 900 * ms, "commands": 200 * ms, "permit": 10 * ms, "gates": 250 * ms,
		"git": (15 + 20) * ms, "slots": (40 + 30 + 10) * ms, "landing": (50 + 25) * ms, "sealing": 5 * ms, "log": (50 + 3 + 10) * ms,
		"batch": 102 * ms, "other": (100 + 5 + 15) * ms,
	}, accounted(l.State, 2040*ms))
}

func TestAnAttemptOfAGroupWaitsForACore(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	dispatch := &run.Dispatch{Task: "a", Attempt: 1, Role: "generator", Head: "c", Group: "shards"}
	l.Append("a", run.TaskData{State: run.TaskRunning, Dispatch: dispatch})
	at(700 * ms)
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	at(time.Second)
	r := runtest.Patched("c", "t", "b") // alone, at last: no other attempt waited
	l.Ended("a", 1, r)
	require.Equal(t, map[string]time.Duration{"permit": 700 * ms, "commands": 300 * ms}, accounted(l.State, time.Second))
}

func TestThePathLeadsThroughWhatAnAgentAskedForAndWaitsForPersons(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	l.Plan(spec.Task{ID: "a", Role: "generator"}, spec.Task{ID: "child", Role: "reader"})
	at(100 * ms)
	l.Append("", run.Data{Wait: new("approve the plan")})
	at(600 * ms)
	l.Append("", run.Data{Wait: new("")})
	l.Dispatched("a", "generator", 1, "c")
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent("a", 1, contextscope.KindTurn, wire.Turn{})
	at(700 * ms)
	l.Agent("a", 1, contextscope.KindRequest, wire.Request{ID: "q", Kind: wire.RequestAsk})
	at(720 * ms)
	l.Dispatched("child", "reader", 1, "c")
	l.Agent("child", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	at(1720 * ms)
	l.Agent("child", 1, contextscope.KindUsage, wire.Spent{Took: time.Second})
	l.Ended("child", 1, spec.Result{Status: spec.StatusDone})
	at(1750 * ms)
	l.Agent("a", 1, contextscope.KindTool, wire.Tooled{})
	l.Agent("a", 1, contextscope.KindProgress, wire.Progress{Wait: &spec.Wait{For: spec.WaitQuota, Until: time.Unix(1000, 0).Add(2 * time.Second)}})
	at(2500 * ms)
	l.Agent("a", 1, contextscope.KindUsage, wire.Spent{Took: 500 * ms})
	l.Ended("a", 1, spec.Result{Status: spec.StatusDone})
	require.Equal(t, map[string]time.Duration{
		"preflight": 100 * ms, "person": 500 * ms, "commands": 100 * ms, "model": 1500 * ms, "quota": 250 * ms, "other": 50 * ms,
	}, accounted(l.State, 2500*ms))
}

// A batch with the patch of a person waited for no attempt: before it was whatever the run did last, and not a wait for the batch.
func TestThePathLeadsThroughWhatWasBeforeAPersonsPatch(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	l.Plan(spec.Task{ID: "a", Role: "generator"}, spec.Task{ID: "b", Role: "generator"})
	l.Dispatched("a", "generator", 1, "c")
	l.Dispatched("b", "generator", 1, "c")
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent("b", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	at(100 * ms)
	l.Ended("b", 1, spec.Result{Status: spec.StatusFailed})
	l.Append("b", run.TaskData{State: run.TaskParked})
	at(900 * ms)
	l.Ended("a", 1, spec.Result{Status: spec.StatusDone})
	l.Append("b", run.TaskData{
		State: run.TaskRunning, Given: &spec.Patch{Commit: "p", Base: "c"},
		Dispatch: &run.Dispatch{Task: "b", Attempt: 2, Role: spec.Person, Head: "c"},
	})
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingTesting, Tasks: []run.Landed{{Task: "b", Attempt: 2}},
		Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: "tester"},
	})
	l.Agent("--batch-1", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	at(time.Second)
	l.Ended("--batch-1", 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{{Gate: "test", Duration: 100 * ms}}})
	require.Equal(t, map[string]time.Duration{"commands": 900 * ms, "gates": 100 * ms}, accounted(l.State, time.Second))
}

// Whatever the log says, with whichever clocks, no part is negative, and all of them are the wall clock.
func TestThePartsSumUpToTheWallClock(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		some := func() time.Duration { return time.Duration(rng.IntN(400)) * ms }
		l, at := runtest.Timed(t)
		var plan []spec.Task
		for i := range 4 {
			plan = append(plan, spec.Task{ID: fmt.Sprintf("t-%d", i), Role: "generator"})
		}
		l.Plan(plan...)
		now := time.Duration(0)
		for range 60 {
			now += some() - 100*ms // clocks are set back too
			at(now)
			id := plan[rng.IntN(4)].ID
			switch rng.IntN(10) {
			case 0:
				l.Append(id, run.TaskData{State: run.TaskRunning, Own: run.Own{Git: some(), Log: some()}, Dispatch: &run.Dispatch{Task: id, Attempt: 1 + rng.IntN(2), Role: "generator"}})
			case 1:
				l.Agent(id, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
			case 2:
				l.Agent(id, 1, contextscope.KindUsage, wire.Spent{Took: some()})
			case 3:
				l.Agent(id, 1, contextscope.KindTurn, wire.Turn{})
			case 4:
				l.Agent(id, 1, contextscope.KindRequest, wire.Request{ID: fmt.Sprint(now), Kind: wire.RequestAsk})
			case 5:
				l.Agent(id, 1, contextscope.KindTool, wire.Tooled{})
			case 6:
				l.Ended(id, 1+rng.IntN(2), spec.Result{Status: spec.StatusDone, Queued: some(), Slot: some(), Git: some()})
			case 7:
				l.Append("", run.Data{Wait: new([]string{"", "approval"}[rng.IntN(2)])})
			case 8:
				l.Append("", run.Data{Epoch: 2 + rng.IntN(3)})
			case 9:
				l.Append("", run.LandingData{
					Batch: 1, State: run.LandingTesting, Tasks: []run.Landed{{Task: id, Attempt: 1}}, Own: run.Own{Landing: some()},
					Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: "tester"},
				})
			}
		}
		wall := max(0, l.Times.Clock(l.Time))
		sum := time.Duration(0)
		for p, took := range accountOf(l.State, wall).spent {
			require.GreaterOrEqual(t, took, time.Duration(0), "seed %d: %s", seed, partNames[p])
			sum += took
		}
		require.Equal(t, wall, sum, "seed %d", seed)
	}
}

func TestACommandThatRanWhenTheRunStoppedIsNoPreflight(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	l.Spec.Roles["mod"] = spec.Role{Name: "mod", Executor: spec.ExecutorCommand}
	at(100 * ms)
	l.Plan(spec.Task{ID: "a", Role: "mod"})
	at(300 * ms)
	l.Dispatched("a", "mod", 1, "c")
	at(400 * ms)
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	want := map[string]time.Duration{"preflight": 300 * ms, "log": 100 * ms, "commands": 149600 * ms}
	require.Equal(t, want, accounted(l.State, 150*time.Second), "it runs")
	at(150 * time.Second)
	l.Append("", run.Data{State: run.Stopped})
	require.Equal(t, want, accounted(l.State, 150*time.Second))
}
