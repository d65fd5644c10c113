package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

// passing is a run in which define leads through build, which uses mends.
func passing(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Base: "b", Project: spec.Project{Gates: []spec.Gate{{Name: "build"}, {Name: "test"}}}}, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{
		{Gate: "build", Tree: "base", Verdict: spec.VerdictPass}, {Gate: "test", Tree: "base", Verdict: spec.VerdictPass, Names: []string{"tests-a"}},
	}})
	build := []string{"build"}
	l.Plan(spec.Task{ID: "define", Role: "generator", Through: []string{"build", "test"}}, spec.Task{ID: "mid", Role: "generator"},
		spec.Task{ID: "uses", Role: "generator", Mends: build, DependsOn: []string{"mid"}},
		spec.Task{ID: "other", Role: "generator"})
	return l
}

// lands folds that a batch of one task lands, with its receipts of build and test.
func lands(l *runtest.Log, batch int, id, head string, d run.LandingData, verdicts ...string) {
	d.Batch, d.State, d.Old, d.Head, d.Tree = batch, run.LandingLed, l.Tip(), head, "tree-"+head
	d.Tasks = []run.Landed{{Task: id, Attempt: 1, Commit: head}}
	for i, gate := range []string{"build", "test"} {
		r := spec.Receipt{Gate: gate, Tree: d.Tree, Verdict: verdicts[i]}
		if r.Verdict != spec.VerdictPass {
			r.ExitCode, r.Signatures = 1, []string{"a.go: x", "b.go: x"}[i:]
		}
		d.Receipts = append(d.Receipts, r)
	}
	l.Append("", d)
}

// The branch stays while a passage is open, what lands in it is built on it, and its end is one batch of the branch.
func TestAPassageMovesTheBranchAtItsEnd(t *testing.T) {
	t.Parallel()
	l := passing(t)
	through := run.LandingData{Through: []string{"build", "test"}}
	lands(l, 1, "define", "h1", through, spec.VerdictPassage, spec.VerdictPassage)
	require.Equal(t, []string{"b", "h1"}, []string{l.Head, l.Tip()})
	require.Equal(t, "tree-h1", l.TreeOf("h1", "build"))
	require.Empty(t, l.Batches.Landed)
	require.False(t, l.ToSeal())
	now, _ := l.Proofs.Now("build")
	require.Equal(t, spec.VerdictPassage, now.Verdict, "the next batch is compared with it")
	test, _ := l.Proofs.Now("test")
	require.Equal(t, []string{"tests-a"}, test.Names, "the tests of before run at the end")
	require.Equal(t, spec.VerdictPass, l.Proofs.AsOf(l.Batches.Green())["build"].Verdict, "the branch is green")
	require.Equal(t, map[*run.Task]bool{l.Tasks.ByID["uses"]: true, l.Tasks.ByID["mid"]: true}, l.Passing())
	require.False(t, l.Stuck())
	require.Empty(t, l.Proofs.Unprovable)

	mends := run.LandingData{Mends: []string{"build"}, Through: []string{"test"}}
	lands(l, 2, "uses", "h2", mends, spec.VerdictPass, spec.VerdictPass)
	require.Equal(t, []string{"b", "h2"}, []string{l.Head, l.Tip()})
	require.True(t, l.ToSeal())
	require.False(t, l.Stuck(), "it ends")
	tasks := []run.Landed{{Task: "define", Attempt: 1, Commit: "h1"}, {Task: "uses", Attempt: 1, Commit: "h2"}}
	sealed := run.LandingData{Batch: 3, State: run.LandingSealed, Old: "b", Head: "m", Tree: "tree-h2", Tasks: tasks}
	l.Append("", sealed)
	require.Equal(t, []string{"m", "m"}, []string{l.Head, l.Tip()})
	require.Nil(t, l.Batches.Passage)
	require.Len(t, l.Batches.Landed, 1)
	require.Equal(t, "tree-h2", l.TreeOf("m", "build"))
	require.Equal(t, []string{"define", "uses"}, run.Names(l.Batches.Landed[0].Tasks))
	require.Zero(t, l.Batches.Green())
	l.Append("", sealed)
	require.Len(t, l.Batches.Landed, 1, "nothing is sealed twice")
}

// What a worker of another environment has found keeps a passage open as well.
func TestAPassageIsOpenWhileItIsRedElsewhere(t *testing.T) {
	t.Parallel()
	l := passing(t)
	l.Append("", run.Data{Other: &run.Other{Environment: "e2", Baseline: map[string]spec.Receipt{
		"build": {Gate: "build", Tree: "base", Environment: "e2", Verdict: spec.VerdictPass},
		"test":  {Gate: "test", Tree: "base", Environment: "e2", Verdict: spec.VerdictPass},
	}}})
	d := run.LandingData{
		Through: []string{"build", "test"}, Batch: 1, State: run.LandingLed, Old: "b", Head: "h1", Tree: "tree-h1",
		Tasks: []run.Landed{{Task: "define", Attempt: 1, Commit: "h1"}},
	}
	for _, g := range d.Through {
		d.Receipts = append(d.Receipts, spec.Receipt{Gate: g, Tree: "tree-h1", Environment: "e2", Verdict: spec.VerdictPassage, ExitCode: 1, Signatures: []string{"a.go: x"}})
	}
	l.Append("", d)
	require.NotNil(t, l.Batches.Passage)
	require.False(t, l.ToSeal(), "red in e2")
}

// A passage ends when all gates are green that one of its tasks has led through.
func TestAPassageWidens(t *testing.T) {
	t.Parallel()
	l := passing(t)
	lands(l, 1, "define", "h1", run.LandingData{Through: []string{"build"}}, spec.VerdictPassage, spec.VerdictPass)
	lands(l, 2, "other", "h2", run.LandingData{Through: []string{"build", "test"}}, spec.VerdictPassage, spec.VerdictPassage)
	lands(l, 3, "uses", "h3", run.LandingData{Mends: []string{"build"}, Through: nil}, spec.VerdictPass, spec.VerdictBaseline)
	require.False(t, l.ToSeal(), "test is red")
}

// A passage stays open where its results do not count any more: its gates run on its newest commit again.
func TestAPassageIsOpenWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	l := passing(t)
	lands(l, 1, "define", "h1", run.LandingData{Through: []string{"build", "test"}}, spec.VerdictPassage, spec.VerdictPassage)
	require.False(t, l.ToSeal())
	l.Append("", run.Data{Baseline: []spec.Receipt{
		{Gate: "build", Tree: "base", Environment: "new", Verdict: spec.VerdictPass}, {Gate: "test", Tree: "base", Environment: "new", Verdict: spec.VerdictPass},
	}})
	require.False(t, l.ToSeal(), "still red")
	require.Equal(t, []string{"build", "test"}, l.Unknown())
}
