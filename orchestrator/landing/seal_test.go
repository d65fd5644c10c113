package landing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

// In an open passage its tasks alone are tested, on its newest commit; a green one becomes a merge commit before anything else.
func TestAPassageIsSealedBeforeAnythingLands(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c")
	l.Tasks.ByID["a"].Task.Through, l.Tasks.ByID["b"].Task.Mends = []string{"test"}, []string{"test"}
	batch := func(n int, id, head, verdict string) {
		d := run.LandingData{
			Batch: n, State: run.LandingLed, Old: l.Tip(), Head: head, Tree: "t-" + head, Through: []string{"test"}, Mends: []string{"test"},
			Receipts: []spec.Receipt{{Gate: "test", Tree: "t-" + head, ExitCode: 1, Verdict: verdict}},
			Tasks:    []run.Landed{{Task: id, Attempt: 1, Commit: head}},
		}
		l.Append("", d)
	}
	first, ok := landing.Land(l.State)[0].(landing.Merge)
	require.True(t, ok)
	require.Len(t, first.Candidates, 1, "what leads through red is a batch of its own")
	batch(1, "a", "h1", spec.VerdictPassage)
	next := landing.Land(l.State)[0].(landing.Merge)
	require.Equal(t, "h1", next.Onto)
	require.Equal(t, "b", next.Candidates[0].Task, "c is no part of it")
	batch(2, "b", "h2", spec.VerdictPass)
	seal := landing.Land(l.State)[0].(landing.Merge)
	require.Equal(t, []string{"b", "h2"}, []string{seal.Onto, seal.Sealed})
	require.Contains(t, seal.Message, "Passage through test (2 tasks)\n\nDivisi-Run: r1\nDivisi-Passage: test")
	d := seal.Then(landing.Chain{Head: "m", Tree: "t-h2"})[0].(run.Append).Data.(run.LandingData)
	require.Equal(t, []string{"a", "b"}, run.Names(d.Tasks))
	l.Append("", d)
	require.Equal(t, "m", landing.Land(l.State)[0].(landing.Merge).Onto)
}

// Where no task is left that could end a passage, what waits for its end is parked, also a patch that is accepted.
func TestWhatWaitsForAPassageInVainIsParked(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c")
	l.Tasks.ByID["a"].Task.Through, l.Tasks.ByID["b"].Task.Mends = []string{"test"}, []string{"test"}
	red := spec.Receipt{Gate: "test", Tree: "t1", ExitCode: 1, Signatures: []string{"test: x"}, Verdict: spec.VerdictPassage}
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingLed, Old: "b", Head: "h1", Tree: "t1", Through: []string{"test"}, Receipts: []spec.Receipt{red},
		Tasks: []run.Landed{{Task: "a", Attempt: 1, Commit: "h1"}},
	})
	require.Empty(t, landing.ParkSets(l.State))
	l.Append("b", run.TaskData{State: run.TaskParked, Reason: "x"})
	l.Do(landing.ParkSets(l.State))
	require.Equal(t, run.TaskParked, l.Tasks.ByID["c"].State)
	require.Equal(t, "the passage through test has not ended, and no task of it is left", l.Tasks.ByID["c"].Reason)
	require.NotNil(t, l.Tasks.ByID["c"].Result.Patch, "its patch is kept")
}
