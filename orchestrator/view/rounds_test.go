package view_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// Before the checker has run nothing is known to be left, which is not the same as nothing.
func TestRoundsAreToldOnceTheirGateHasRun(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Project: spec.Project{Gates: []spec.Gate{{Name: "lint"}}}}, run.Running)
	fix := spec.Task{ID: "fix", Role: "generator", Mends: []string{"lint"}, Shard: &spec.Shard{By: spec.ByFinding}}
	l.Append("", run.PlanData{By: run.ByFile, Later: []run.Later{{Task: fix}}})
	require.Empty(t, view.Of(l.State).Rounds)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "lint", ExitCode: 1, Signatures: []string{"a.go: x"}, Verdict: spec.VerdictFail}}})
	rounds := view.Of(l.State).Rounds
	require.Len(t, rounds, 1)
	require.Equal(t, 1, rounds[0].Left)
}
