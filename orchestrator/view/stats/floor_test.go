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

// worksFor has an attempt work for a time and hand in; one that shares its process names how many do.
func worksFor(l *runtest.Log, at func(time.Duration), id string, from, took time.Duration, shared int) {
	at(from)
	l.Dispatched(id, "generator", 1, "c")
	l.Agent(id, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	at(from + took)
	l.Agent(id, 1, contextscope.KindUsage, wire.Spent{Took: took})
	r := runtest.Patched("c-"+id, "tree", "c")
	if shared > 1 {
		r.Shared = &spec.Shared{First: id, Tasks: shared}
	}
	l.Ended(id, 1, r)
	l.Append(id, run.TaskData{State: run.TaskAccepted})
}

// A batch that let a task land reports what its gates take; one that failed does not.
func TestTheFloorHasTheGatesThatLetTasksLand(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	l.Spec.Parallel, l.Spec.Project.Gates = 4, []spec.Gate{{Name: "test"}}
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: time.Second}}})
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	worksFor(l, at, "a", 10*time.Second, 3*time.Second, 1)
	for i, status := range []spec.Status{spec.StatusFailed, spec.StatusDone} {
		took, attempt := time.Duration(7+i)*time.Second, i+1
		l.Append("", run.LandingData{
			State: run.LandingTesting, Batch: 1, Head: "h", Tree: "tree", Tasks: []run.Landed{{Task: "a", Attempt: 1}},
			Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: attempt, Role: spec.RoleTester, Gates: []string{"test"}},
		})
		r := spec.Result{Status: status, Receipts: []spec.Receipt{{Gate: "test", Tree: "tree", Duration: took}}}
		l.Ended("--batch-1", attempt, r)
	}
	require.Equal(t, 3*time.Second+8*time.Second, floorOf(l.State))
}

func TestTheFloorIsTheLongestChainOfThePlan(t *testing.T) {
	t.Parallel()
	s := time.Second
	shard := func(id, of string) spec.Task { return spec.Task{ID: id, Role: "generator", ShardOf: of} }
	of := func(id string) spec.Task { return spec.Task{ID: id, Role: "generator", ShardOf: "t", ChangeSet: "t"} }
	for name, c := range map[string]struct {
		tasks    []spec.Task
		took     map[string]time.Duration
		parallel int
		shared   int
		want     time.Duration
	}{
		"one task and its gates": {
			[]spec.Task{{ID: "a", Role: "generator"}}, map[string]time.Duration{"a": 3 * s}, 4, 1, 3*s + 2*s,
		},
		"the longer of two that go beside each other": {
			[]spec.Task{{ID: "a", Role: "generator"}, {ID: "b", Role: "generator"}},
			map[string]time.Duration{"a": 3 * s, "b": 4 * s},
			4, 1, 4*s + 2*s,
		},
		"one after the other": {
			[]spec.Task{{ID: "a", Role: "generator"}, {ID: "b", Role: "generator", DependsOn: []string{"a"}}},
			map[string]time.Duration{"a": 3 * s, "b": 4 * s},
			4, 1, 3*s + 2*s + 4*s + 2*s,
		},
		"canaries begin together": {
			[]spec.Task{shard("t-1", "t"), shard("t-2", "t"), shard("t-3", "t")},
			map[string]time.Duration{"t-1": 2 * s, "t-2": 3 * s, "t-3": 5 * s},
			4, 1, 5*s + 2*s,
		},
		"a shard waits for a canary": {
			[]spec.Task{shard("t-1", "t"), shard("t-2", "t"), shard("t-3", "t"), shard("t-4", "t")},
			map[string]time.Duration{"t-1": 5 * s, "t-2": 6 * s, "t-3": 5 * s, "t-4": 6 * s},
			4, 1, 5*s + 2*s + 5*s + 2*s,
		},
		"a set has no canary": {
			[]spec.Task{of("t-1"), of("t-2"), of("t-3"), of("t-4")},
			map[string]time.Duration{"t-1": 5 * s, "t-2": 6 * s, "t-3": 5 * s, "t-4": 6 * s},
			4, 1, 6*s + 2*s,
		},
		"shards with one agent": {
			[]spec.Task{shard("t-1", "t"), shard("t-2", "t"), shard("t-3", "t")},
			map[string]time.Duration{"t-1": 2 * s, "t-2": 3 * s, "t-3": 5 * s},
			1, 1, 10*s + 2*s,
		},
		"shards that did not hand in are no canaries": {
			[]spec.Task{shard("t-1", "t"), shard("t-2", "t"), shard("t-3", "t"), shard("t-4", "t")},
			map[string]time.Duration{"t-1": 3 * s, "t-3": 5 * s, "t-4": 5 * s},
			4, 1, 5*s + 2*s,
		},
		"what ran for several counts its share": {
			[]spec.Task{{ID: "a", Role: "generator"}}, map[string]time.Duration{"a": 3 * s}, 4, 3, s + 2*s,
		},
		"what did not hand in counts nothing": {
			[]spec.Task{{ID: "a", Role: "generator"}}, nil, 4, 1, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, at := runtest.Timed(t)
			l.Spec.Parallel, l.Spec.Project.Gates = c.parallel, []spec.Gate{{Name: "test"}}
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: 2 * s}}})
			l.Plan(c.tasks...)
			for i, task := range c.tasks {
				if took := c.took[task.ID]; took > 0 {
					worksFor(l, at, task.ID, time.Duration(10+10*i)*s, took, c.shared)
				}
			}
			require.Equal(t, c.want, floorOf(l.State))
		})
	}
}
