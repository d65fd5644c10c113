package page

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

// quiet is a run in which a and b are to land and nothing has for a time.
func quiet(t *testing.T) (l *runtest.Log, at func(time.Duration)) {
	t.Helper()
	l, at = runtest.Timed(t)
	at(0)
	l.Spec.Project.Gates, l.Spec.Parallel, l.Spec.Plan = []spec.Gate{{Name: "test"}}, 4, &spec.Plan{}
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: time.Minute}}})
	l.Append("", run.PlanData{By: run.ByFile, Tasks: []spec.Task{
		{ID: "a", Role: "generator", Attempts: 3}, {ID: "b", Role: "generator", Attempts: 3}, {ID: "c", Role: "reader", Attempts: 3},
	}})
	return l, at
}

func TestAlarm(t *testing.T) {
	t.Parallel()
	line := "look first"
	begins := func(l *runtest.Log, id string) { l.Agent(id, 1, contextscope.KindStarted, wire.Started{Delivery: 1}) }
	for name, c := range map[string]struct {
		log  func(l *runtest.Log, at func(time.Duration))
		now  time.Duration
		want string
	}{
		"a run that begins":         {nil, 9 * time.Minute, ""},
		"nothing landed for long":   {nil, 10 * time.Minute, "nothing has landed for 10 min"},
		"more than an hour":         {nil, 61 * time.Minute, "nothing has landed for 1h01m"},
		"a run that ended":          {func(l *runtest.Log, _ func(time.Duration)) { l.Append("", run.Data{State: run.Stopped}) }, time.Hour, ""},
		"nothing is left that does": {func(l *runtest.Log, _ func(time.Duration)) { l.Lands(1, "a", "b") }, time.Hour, ""},
		"since the last landing": {func(l *runtest.Log, at func(time.Duration)) {
			at(time.Minute)
			l.Lands(1, "a")
		}, 6 * time.Minute, "nothing has landed for 5 min"},
		"a task that was done without a patch counts": {func(l *runtest.Log, at func(time.Duration)) {
			at(8 * time.Minute)
			l.Append("c", run.TaskData{State: run.TaskDone})
		}, 12 * time.Minute, ""},
		"three times what is usual": {func(l *runtest.Log, at func(time.Duration)) {
			at(20 * time.Minute)
			l.Lands(1, "a")
		}, 79 * time.Minute, ""},
		"three times what the gates take": {func(l *runtest.Log, _ func(time.Duration)) {
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: 10 * time.Minute}}})
		}, 29 * time.Minute, ""},
		"the line": {
			func(l *runtest.Log, _ func(time.Duration)) { l.Append("", run.Data{Line: &line}) },
			11 * time.Minute, "nothing has landed for 11 min: the line is stopped: look first",
		},
		"the machine": {
			func(l *runtest.Log, _ func(time.Duration)) {
				l.Append("", run.Data{State: run.Running, Reason: "paused: no space"})
			},
			11 * time.Minute, "nothing has landed for 11 min: paused: no space",
		},
		"a wait": {
			func(l *runtest.Log, _ func(time.Duration)) { l.Append("", run.Data{Wait: &line}) },
			11 * time.Minute, "nothing has landed for 11 min: the run waits for look first",
		},
		"a quota": {func(l *runtest.Log, _ func(time.Duration)) {
			l.Dispatched("a", "generator", 1, "b")
			begins(l, "a")
			l.Agent("a", 1, contextscope.KindProgress, wire.Progress{Wait: &spec.Wait{For: spec.WaitQuota, Until: time.Unix(9000, 0)}})
		}, 11 * time.Minute, "nothing has landed for 11 min: all agents wait for a quota"},
		"the longest gates": {func(l *runtest.Log, at func(time.Duration)) {
			for i, id := range []string{"a", "b"} {
				l.Dispatched(id, "generator", 1, "b")
				at(time.Duration(i+2) * time.Minute)
				l.Tests(i+1, id)
				begins(l, runtest.BatchWork(i+1))
			}
		}, 11 * time.Minute, "nothing has landed for 11 min: the gates of batch 1 have run for 9 min"},
		"gates on the base commit": {func(l *runtest.Log, at func(time.Duration)) {
			l.Gates(run.BaselineTask, 1, "b")
			at(time.Minute)
			begins(l, run.BaselineTask)
		}, 11 * time.Minute, "nothing has landed for 11 min: the gates on the base commit have run for 10 min"},
		"no batch": {func(l *runtest.Log, _ func(time.Duration)) {
			l.Append("a", run.TaskData{State: run.TaskAccepted})
			l.Gates(run.AgainTask, 1, "b")
		}, 11 * time.Minute, "nothing has landed for 11 min: no batch is made of the waiting tasks: the gates run on the base commit once more"},
		"a decision": {func(l *runtest.Log, _ func(time.Duration)) {
			l.Dispatched("a", "generator", 1, "b")
			l.Ended("a", 1, runtest.Patched("p", "t", "b"))
			l.Append("a", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Attempt: 1, Evidence: []string{"a test is gone"}}})
		}, 11 * time.Minute, "nothing has landed for 11 min: a decision is open: "},
		"an agent": {func(l *runtest.Log, at func(time.Duration)) {
			l.Dispatched("a", "generator", 1, "b")
			at(2 * time.Minute)
			begins(l, "a")
		}, 11 * time.Minute, "nothing has landed for 11 min: a/1 has worked for 9 min"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, at := quiet(t)
			if c.log != nil {
				c.log(l, at)
			}
			got := alarm(l.State, time.Unix(1000, 0).Add(c.now))
			if name == "a decision" { // in the words of the decision
				require.Contains(t, got, c.want)
				return
			}
			require.Equal(t, c.want, got)
		})
	}
}

// The time in which no process held the run is no time without a landing.
func TestAlarmLeavesOutWhenNoProcessHeldTheRun(t *testing.T) {
	t.Parallel()
	l, at := quiet(t)
	at(time.Minute)
	l.Append("", run.Data{State: run.Stopped})
	at(time.Hour)
	l.Append("", run.Data{State: run.Running, Epoch: 2})
	require.Empty(t, alarm(l.State, time.Unix(1000, 0).Add(65*time.Minute)))
	require.Equal(t, "nothing has landed for 11 min", alarm(l.State, time.Unix(1000, 0).Add(70*time.Minute)))
}

func TestProjected(t *testing.T) {
	t.Parallel()
	many := func(n int) (tasks []spec.Task) {
		for i := range n {
			tasks = append(tasks, spec.Task{ID: spec.ShardID("t", i+1), ShardOf: "t", Role: "generator", Attempts: 3})
		}
		return tasks
	}
	line := "x"
	land := func(minutes ...int) func(*runtest.Log, func(time.Duration)) {
		return func(l *runtest.Log, at func(time.Duration)) {
			for i, m := range minutes {
				at(time.Duration(m) * time.Minute)
				l.Lands(i+1, spec.ShardID("t", 2*i+1), spec.ShardID("t", 2*i+2))
			}
		}
	}
	for name, c := range map[string]struct {
		log  func(*runtest.Log, func(time.Duration))
		now  time.Duration
		want time.Duration
	}{
		"nothing landed":   {land(), 5 * time.Minute, 0},
		"one batch":        {land(3), 5 * time.Minute, 0},
		"since it began":   {land(2, 4), 8 * time.Minute, 8*time.Minute + 8*time.Minute*96/4},
		"the newest ten":   {land(1, 2, 3, 4, 14, 18), 20 * time.Minute, 20*time.Minute + 10*time.Minute*88/4},
		"the newest third": {land(10, 70, 85, 88), 90 * time.Minute, 90*time.Minute + 30*time.Minute*92/6},
		"nothing for long": {land(1, 2, 3), time.Hour, 0},
		"the line":         {func(l *runtest.Log, at func(time.Duration)) { land(2, 4)(l, at); l.Append("", run.Data{Line: &line}) }, 8 * time.Minute, 0},
		"a wait":           {func(l *runtest.Log, at func(time.Duration)) { land(2, 4)(l, at); l.Append("", run.Data{Wait: &line}) }, 8 * time.Minute, 0},
		"a run that stopped": {func(l *runtest.Log, at func(time.Duration)) {
			land(2, 4)(l, at)
			l.Append("", run.Data{State: run.Stopped})
		}, 8 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, at := runtest.Timed(t)
			at(0)
			l.Append("", run.PlanData{By: run.ByFile, Tasks: many(100)})
			c.log(l, at)
			begin := time.Unix(1000, 0)
			got := projected(l.State, begin.Add(c.now))
			if c.want == 0 {
				require.Zero(t, got)
				return
			}
			require.WithinDuration(t, begin.Add(c.want), got, time.Second)
		})
	}
}

func TestQueueOf(t *testing.T) {
	t.Parallel()
	l, at := quiet(t)
	require.Equal(t, []any{[]string{}, 0, []Testing{}}, []any{queueOf(l.State).Waiting, queueOf(l.State).WaitingCount, queueOf(l.State).Testing})
	for _, id := range []string{"a", "b"} {
		l.Dispatched(id, "generator", 1, "b")
		l.Ended(id, 1, runtest.Patched("c-"+id, "t-"+id, "b"))
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	at(30 * time.Second)
	l.Tests(1, "a", "b")
	q := queueOf(l.State)
	require.Equal(t, []Testing{{Batch: 1, Tasks: []string{"a", "b"}, Since: 1_030_000}}, q.Testing)
	require.Equal(t, []any{0, 0, 2}, []any{q.WaitingCount, q.GateRuns, q.OneByOne})
	l.Ended(runtest.BatchWork(1), 1, spec.Result{
		Status: spec.StatusFailed, Error: &spec.Fault{Class: wire.FaultGate, Message: "red"},
		Receipts: []spec.Receipt{{Gate: "test", Tree: "t", Verdict: spec.VerdictFail}},
	})
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingSplit, Parts: [][]string{{"a"}, {"b"}}, Tasks: []run.Landed{{Task: "a"}, {Task: "b"}}, Search: &run.Search{},
	})
	l.Tests(2, "a")
	q = queueOf(l.State)
	require.Equal(t, "searches for the failing change among 2 tasks", q.Testing[0].Search)
	require.Equal(t, []any{[]string{"b"}, 1, []string{"a", "b"}, 1}, []any{q.Waiting, q.WaitingCount, q.Suspects, q.GateRuns})
}

func TestAQueueNamesTheFirstTasks(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	at(0)
	for i := range maxQueued + 7 {
		id := spec.ShardID("t", i+1)
		l.Append("", run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: id, Role: "generator"}}})
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	q := queueOf(l.State)
	require.Len(t, q.Waiting, maxQueued)
	require.Equal(t, maxQueued+7, q.WaitingCount)
}
