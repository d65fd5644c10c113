package landing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// newLog is a run in which the patches of the tasks are proven.
func newLog(t *testing.T, tasks ...string) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	var planned []spec.Task
	for _, id := range tasks {
		planned = append(planned, spec.Task{ID: id, Role: "generator"})
	}
	l.Plan(planned...)
	for _, id := range tasks {
		l.Dispatched(id, "generator", 1, "b")
		l.Ended(id, 1, runtest.Patched("c-"+id, "tree-"+id, "b"))
		l.Append(id, run.TaskData{State: run.TaskProven})
	}
	return l
}

// chainOf is what merging makes of the candidates, but for those that conflict.
func chainOf(candidates []landing.Candidate, conflicts map[string]bool) landing.Chain {
	chain := landing.Chain{Head: "b"}
	for _, c := range candidates {
		if waits, conflict := conflicts[c.Task]; conflict {
			chain.Conflicts = append(chain.Conflicts, landing.Conflict{Candidate: c, Paths: []string{"a.go"}, Waits: waits})
			continue
		}
		chain.Merged = append(chain.Merged, landing.Merged{Candidate: c, Landed: "l-" + c.Task, Tree: "merged"})
		chain.Head, chain.Tree = "l-"+c.Task, "merged"
	}
	return chain
}

func TestLand(t *testing.T) {
	t.Parallel()
	require.Empty(t, landing.Land(newLog(t).State), "nothing is proven")
	for name, c := range map[string]struct {
		conflicts map[string]bool
		proven    bool
		want      []string
	}{
		"a batch is tested":                 {nil, false, []string{"assign --batch/1 to tester on l-c"}},
		"a proven tree lands":               {nil, true, []string{"landing landed a b c", "move the branch"}},
		"a conflict with the head":          {map[string]bool{"b": false}, false, []string{"task b pending it conflicts with what landed before it in a.go", "assign --batch/1 to tester on l-c"}},
		"a conflict within the batch waits": {map[string]bool{"b": true}, false, []string{"assign --batch/1 to tester on l-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b", "c")
			if c.proven {
				l.Gates(run.FinalTask, 1, "x")
				l.Ended(run.FinalTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{{Gate: "test", Tree: "merged"}}})
			}
			actions := landing.Land(l.State)
			require.Len(t, actions, 1)
			merge, ok := actions[0].(landing.Merge)
			require.True(t, ok)
			require.Len(t, merge.Candidates, 3)
			got := runtest.Describe(merge.Then(chainOf(merge.Candidates, c.conflicts)))
			require.Equal(t, c.want, got)
		})
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	good := spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{{Gate: "test", Tree: "merged"}}}
	red := spec.Result{
		Status: spec.StatusFailed, Error: &spec.Fault{Class: wire.FaultGate, Message: "test is red"},
		Receipts: []spec.Receipt{{Gate: "test", Tree: "merged", Verdict: spec.VerdictFail, Signatures: []string{"TestA"}}},
	}
	for name, c := range map[string]struct {
		tasks   []string
		results []spec.Result
		tree    string
		want    []string
	}{
		"green moves the branch": {[]string{"a", "b"}, []spec.Result{good}, "merged", []string{"landing landed a b", "move the branch"}},
		"green on another tree runs again": {
			[]string{"a"}, []spec.Result{good}, "other", []string{"landing red a", "assign --batch/2 to tester on l"},
		},
		"red runs once more": {
			[]string{"a", "b"}, []spec.Result{red}, "merged", []string{"landing red a b", "assign --batch/2 to tester on l"},
		},
		"red twice is split": {[]string{"a", "b"}, []spec.Result{red, red}, "merged", []string{"landing split a b"}},
		"red twice alone goes back": {
			[]string{"a"},
			[]spec.Result{red, red},
			"merged",
			[]string{"landing split a", "task a pending red together with what landed before it: test is red"},
		},
		"without receipts it has more tries": {
			[]string{"a"},
			[]spec.Result{runtest.Failed(wire.FaultInternal, "disk"), runtest.Failed(wire.FaultInternal, "disk")},
			"merged",
			[]string{"landing red a", "assign --batch/3 to tester on l"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, c.tasks...)
			d := run.LandingData{Batch: 1, State: run.LandingTesting, Old: "b", Head: "l"}
			for _, id := range c.tasks {
				d.Tasks = append(d.Tasks, run.Landed{Task: id, Attempt: 1, Commit: "l-" + id})
			}
			for i, r := range c.results {
				d.Dispatch = &run.Dispatch{Task: run.BatchTask, Attempt: i + 1, Role: "tester", Head: "l"}
				l.Append("", d)
				require.Nil(t, landing.Tested(l.State))
				require.Empty(t, landing.Settle(l.State, c.tree), "outstanding")
				l.Ended(run.BatchTask, i+1, r)
			}
			require.Equal(t, c.want, runtest.Describe(landing.Settle(l.State, c.tree)))
		})
	}
}
