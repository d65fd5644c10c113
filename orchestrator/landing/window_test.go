package landing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// waits returns until when the next batch waits, and for how long at most.
func waits(t *testing.T, l *runtest.Log) (until time.Time, most time.Duration) {
	t.Helper()
	m, ok := landing.Land(l.State)[0].(landing.Merge)
	require.True(t, ok)
	ready, _ := schedule.Ready(l.State)
	return m.Window(ready)
}

func TestABatchWaitsForTasksThatAreUnderWay(t *testing.T) {
	t.Parallel()
	baseline := func(gates time.Duration) func(l *runtest.Log) {
		return func(l *runtest.Log) {
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: gates}}})
		}
	}
	for name, c := range map[string]struct {
		log  func(l *runtest.Log)
		want time.Duration
	}{
		"nothing is under way": {func(*runtest.Log) {}, 0},
		"a share of the gates": {func(l *runtest.Log) {
			baseline(40 * time.Second)(l)
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 2 * time.Second},
		"short gates": {func(l *runtest.Log) {
			baseline(time.Second)(l)
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 200 * time.Millisecond},
		"only the gates that are wanted": {func(l *runtest.Log) {
			baseline(40 * time.Second)(l)
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "slow", Verdict: spec.VerdictPass, Duration: time.Hour}}})
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 2 * time.Second},
		"an agent is at work": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "more", Role: "generator"})
			l.Dispatched("more", "generator", 1, "b")
		}, 200 * time.Millisecond},
		"a judge is at work": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "more", Role: "generator"})
			l.Dispatched("more", "generator", 1, "b")
			l.Ended("more", 1, runtest.Patched("c", "t", "b"))
			l.Dispatched("more--verify", "reviewer", 1, "c")
		}, 200 * time.Millisecond},
		"what comes next depends on these": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "more", Role: "generator", DependsOn: []string{"a"}})
		}, 0},
		"a change set is a batch by itself": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "more", Role: "generator", ChangeSet: "s"})
		}, 0},
		"one at a time": {func(l *runtest.Log) {
			l.Spec.Project.Prove = spec.ProveEach
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 0},
		"it is full": {func(l *runtest.Log) {
			l.Batches.Limit = 3
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 0},
		"a part": {func(l *runtest.Log) {
			batch(l, 1, 1, "b", "l-c", "a", "b", "c")
			l.Append("", run.LandingData{
				Batch: 1, State: run.LandingSplit, Parts: [][]string{{"a", "b"}, {"c"}}, Tasks: tasksOf("a", "b", "c"),
			})
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b", "c")
			c.log(l)
			first := l.Tasks.ByID["a"].Queued
			require.False(t, first.IsZero())
			until, most := waits(t, l)
			if require.Equal(t, c.want, most); c.want == 0 {
				require.Zero(t, until)
				return
			}
			require.Equal(t, first.Add(c.want), until, "patches that come later prolong nothing")
		})
	}
}

func TestABatchWaitsForCommandsThatEndSoonerThanTwoBatches(t *testing.T) {
	t.Parallel()
	command, model := spec.Role{Name: "mod", Executor: spec.ExecutorCommand}, spec.Role{Name: "mod", Executor: spec.ExecutorModel}
	const share, all = time.Second, 7*time.Second + 200*time.Millisecond // of gates of 20 s; 1 s for each of 7 shards
	for name, c := range map[string]struct {
		role  spec.Role
		judge string
		gates time.Duration
		more  spec.Task
		limit int
		want  time.Duration
	}{
		"they end evenly":               {command, "", 20 * time.Second, spec.Task{}, 64, all},
		"the gates end sooner":          {command, "", 3600 * time.Millisecond, spec.Task{}, 64, 200 * time.Millisecond},
		"a model ends when it wants":    {model, "", 20 * time.Second, spec.Task{}, 64, share},
		"a judge is a model":            {command, "reviewer", 20 * time.Second, spec.Task{}, 64, share},
		"another task is under way":     {command, "", 20 * time.Second, spec.Task{ID: "other", Role: "mod"}, 64, share},
		"what depends on them can wait": {command, "", 20 * time.Second, spec.Task{ID: "mod-9", Role: "mod", DependsOn: []string{"mod"}}, 64, all},
		"the batch is full before all":  {command, "", 20 * time.Second, spec.Task{}, 5, all - 3*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t)
			l.Spec.Roles["mod"] = c.role
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: c.gates}}})
			l.Batches.Limit = c.limit
			var shards []spec.Task
			for _, id := range []string{"s-1", "s-2", "s-3", "s-4", "s-5", "s-6", "s-7", "s-8"} {
				shards = append(shards, spec.Task{ID: id, ShardOf: "mod", Role: "mod", Verify: c.judge})
			}
			if c.more.ID != "" {
				shards = append(shards, c.more)
			}
			l.Plan(shards...)
			if c.more.ID == "other" {
				l.Dispatched("other", "mod", 1, "b")
			}
			for _, id := range []string{"s-1", "s-2"} {
				l.Dispatched(id, "mod", 1, "b")
				l.Ended(id, 1, runtest.Patched("c-"+id, "tree-"+id, "b"))
			}
			for _, id := range []string{"s-1", "s-2"} {
				l.Append(id, run.TaskData{State: run.TaskAccepted}) // a second after the one before
			}
			until, most := waits(t, l)
			require.Equal(t, c.want, most)
			require.Equal(t, l.Tasks.ByID["s-1"].Queued.Add(c.want), until)
		})
	}
}

func TestTheFirstPatchOfATemplateTellsHowLongTheOthersTake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gates, want time.Duration
	}{
		"one after the other they are there sooner": {20 * time.Second, 6*time.Second + 200*time.Millisecond}, // 2 s each
		"the gates end sooner, it waits a while":    {3 * time.Second, 4 * time.Second},                       // twice as long as it took
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t)
			l.Spec.Roles["mod"] = spec.Role{Name: "mod", Executor: spec.ExecutorCommand}
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: c.gates}}})
			l.Batches.Limit = 64
			var shards []spec.Task
			for _, id := range []string{"s-1", "s-2", "s-3", "s-4"} {
				shards = append(shards, spec.Task{ID: id, ShardOf: "mod", Role: "mod"})
			}
			l.Plan(shards...)
			l.Dispatched("s-1", "mod", 1, "b")
			l.Agent("s-1", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
			l.Ended("s-1", 1, runtest.Patched("c-1", "tree-1", "b"))
			l.Append("s-1", run.TaskData{State: run.TaskAccepted})
			_, most := waits(t, l)
			require.Equal(t, c.want, most)
		})
	}
}

// A quick gate begins with small batches, which are cheap to split; a slow one proves more patches at once.
func TestTheBaselineChoosesTheFirstLimit(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]int{
		0: 64, 10 * time.Millisecond: 64, 1280 * time.Millisecond: 64, 2 * time.Second: 100, 14 * time.Second: 512, time.Hour: 512,
	} {
		l := newLog(t)
		l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "build", Duration: took / 2}, {Gate: "test", Duration: took - took/2}}})
		plan := make([]spec.Task, 520)
		for i := range plan {
			plan[i] = spec.Task{ID: fmt.Sprintf("t-%03d", i), Role: "generator"}
		}
		l.Plan(plan...)
		for _, task := range plan {
			l.Dispatched(task.ID, "generator", 1, "b")
			l.Ended(task.ID, 1, runtest.Patched("c-"+task.ID, "tree-"+task.ID, "b"))
			l.Append(task.ID, run.TaskData{State: run.TaskAccepted})
		}
		m, ok := landing.Land(l.State)[0].(landing.Merge)
		require.True(t, ok)
		require.Len(t, m.Candidates, want, took)
	}
}
