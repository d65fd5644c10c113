package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
)

// Where another environment has proven a round, the findings of the next one are those of a run on the head, and the round counts.
func TestRoundsThatAnotherEnvironmentProves(t *testing.T) {
	t.Parallel()
	red := func(environment, tree string, signatures ...string) spec.Receipt {
		return spec.Receipt{
			Gate: "lint", Tree: tree, Environment: environment, Findings: "of " + tree, Signatures: signatures, Kind: spec.KindFindings,
			Verdict: spec.VerdictFail, ExitCode: 1,
		}
	}
	found := func(r spec.Receipt) spec.Result {
		return spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}}
	}
	l := runtest.New(t, run.Spec{
		Base: "b", Roles: runtest.Roles(), Parallel: 4, Project: spec.Project{Gates: []spec.Gate{{Name: "lint"}}},
	}, run.Running)
	base, other := red("e1", "base", "a.go: x", "b.go: x"), red("e2", "base", "a.go: x", "b.go: x")
	l.Append("", run.Data{Baseline: []spec.Receipt{base}})
	l.Append("", run.Data{Other: &run.Other{Environment: "e2", Baseline: map[string]spec.Receipt{"lint": other}}})
	fix := spec.Task{ID: "fix", Role: "codemod", Brief: "b", Mends: []string{"lint"}, Shard: &spec.Shard{By: spec.ByFinding}}
	l.Append("", run.PlanData{By: run.ByFile, Later: []run.Later{{Task: fix}}})
	require.Equal(t, []string{"lint"}, schedule.Dispatch(l.State)[0].(run.Assign).Dispatch.Gates)
	l.Gates(run.HeadTask, 1, "b")
	l.Ended(run.HeadTask, 1, found(base))
	first := schedule.Dispatch(l.State)[0].(run.Expand)
	require.Equal(t, "of base", first.Findings)
	one := spec.Task{ID: "fix-001", ShardOf: "fix", Role: "codemod", Files: []string{"a.go"}, Mends: fix.Mends, Rule: &spec.ShardRule{Round: 1}}
	l.Append("", run.PlanData{By: run.ByFile, Expands: "fix", Round: first.Round, Tasks: []spec.Task{one}})
	better := red("e2", "t1", "b.go: x")
	better.Verdict = spec.VerdictBetter
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingLanded, Old: "b", Head: "h1", Tree: "t1", Mends: fix.Mends, Receipts: []spec.Receipt{better},
		Tasks: []run.Landed{{Task: "fix-001", Attempt: 1, Commit: "h1"}},
	})
	require.Equal(t, "h1", schedule.Dispatch(l.State)[0].(run.Assign).Dispatch.Head)
	l.Gates(run.HeadTask, 2, "h1")
	l.Ended(run.HeadTask, 2, found(red("e2", "t1", "b.go: x")))
	next := schedule.Dispatch(l.State)[0].(run.Expand)
	require.Equal(t, run.Round{Number: 2, Tree: "t1", Left: 1, Closed: 1}, *next.Round)
	require.Equal(t, "of t1", next.Findings)
}
