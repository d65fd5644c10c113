package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

// What a batch that mends a gate leaves is what later patches are compared with, and no receipt of before counts against it.
func TestWhatIsMendedStaysSo(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Project: spec.Project{Gates: []spec.Gate{{Name: "lint"}, {Name: "test"}}}}, run.Running)
	receipt := func(gate, tree, verdict string, signatures ...string) spec.Receipt {
		return spec.Receipt{Gate: gate, Tree: tree, Environment: "e", Verdict: verdict, Signatures: signatures}
	}
	lint := func(tree, verdict string, signatures ...string) []spec.Receipt {
		return []spec.Receipt{receipt("lint", tree, verdict, signatures...)}
	}
	l.Append("", run.Data{Baseline: []spec.Receipt{
		receipt("lint", "base", spec.VerdictFail, "a", "b", "c"), receipt("test", "base", spec.VerdictFail, "x", "y"),
	}})
	l.Append("", run.Data{Other: &run.Other{Environment: "o", Baseline: map[string]spec.Receipt{"lint": receipt("lint", "base", spec.VerdictFail)}}})
	l.Plan(spec.Task{ID: "m", Role: "generator", Mends: []string{"lint"}}, spec.Task{ID: "n", Role: "generator"})
	require.Equal(t, []string{"m"}, l.Mending("lint"))
	require.Empty(t, l.Mending("test"))
	landed := func(batch int, id, tree string, mends []string, better string, receipts []spec.Receipt) {
		l.Append("", run.LandingData{
			Batch: batch, State: run.LandingLanded, Head: tree, Tree: tree, Mends: mends, Receipts: receipts,
			Tasks: []run.Landed{{Task: id, Attempt: 1, Commit: tree, Better: better}},
		})
	}
	old := lint("old", spec.VerdictBaseline, "a", "b", "c")
	l.Gates("--batch-9", 1, "old")
	l.Ended("--batch-9", 1, spec.Result{Status: spec.StatusDone, Receipts: old})
	require.True(t, l.Proofs.IsProven("old", []string{"lint"}, ""))

	landed(1, "n", "t1", nil, "", append(lint("t1", spec.VerdictBaseline, "a", "b"), receipt("test", "t1", spec.VerdictBaseline, "x")))
	require.Empty(t, l.Proofs.Mended, "nothing has mended a gate")
	first := l.Batches.Landed[0].Pos

	landed(2, "m", "t2", []string{"lint"}, "2 left", append(lint("t2", spec.VerdictBetter, "a", "b"), receipt("test", "t2", spec.VerdictBaseline, "x", "y")))
	now, _ := l.Proofs.Now("lint")
	require.Equal(t, []string{"a", "b"}, now.Signatures)
	require.NotContains(t, l.Proofs.Mended, "test", "it has as many failures as before")
	require.Equal(t, []string{"a", "b", "c"}, l.Proofs.AsOf(first)["lint"].Signatures, "what landed before is compared with the base")
	require.Equal(t, []string{"a", "b"}, l.Proofs.AsOf(0)["lint"].Signatures)
	require.True(t, l.Better(l.Tasks.ByID["m"]))
	require.False(t, l.Proofs.IsProven("old", []string{"lint"}, ""), "three failures are more than the head has")
	require.True(t, l.Proofs.IsProven("t2", []string{"lint"}, ""))
	require.Empty(t, l.Proofs.Among(), "another environment has nothing to compare with")
	l.Gates("--batch-9", 2, "old")
	l.Ended("--batch-9", 2, spec.Result{Status: spec.StatusDone, Receipts: lint("old", spec.VerdictBaseline, "a")})
	require.True(t, l.Proofs.IsProven("old", []string{"lint"}, ""), "it ran again")

	landed(3, "n", "t3", nil, "", lint("t3", spec.VerdictPass))
	now, _ = l.Proofs.Now("lint")
	require.Equal(t, spec.VerdictPass, now.Verdict, "a gain of any patch counts")
	require.False(t, l.Better(l.Tasks.ByID["m"]), "the gate is green")
}
