package acceptance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestWhatLandedInAnotherRunIsNotAskedAboutAgain(t *testing.T) {
	t.Parallel()
	a := &run.Attempt{Attempt: 1, Carried: true}
	works := run.Works{"a": {ID: "a", Attempts: map[int]*run.Attempt{1: a}}}
	task := &run.Task{
		Task: spec.Task{ID: "a"}, Attempt: 1, Result: &spec.Result{Attempt: 1, Patch: &spec.Patch{Commit: "c"}},
	}
	s := run.NewState()
	s.Plans.All = []run.PlanData{{By: run.ByFile}}
	require.Nil(t, patchOf(&s.Agenda, works, task))
	a.Carried = false
	require.NotNil(t, patchOf(&s.Agenda, works, task))
}
