package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
)

func TestATaskBeginsWithAPatchOfAnotherRun(t *testing.T) {
	t.Parallel()
	s := NewState()
	p := &spec.Patch{Commit: "c", Base: "b", Tree: "t", Files: []string{"a.txt"}}
	s.Spec = Spec{Run: "r", Carried: map[string]*spec.Patch{"one": p}}
	s.applyPlan(&contextscope.Event{Pos: 2}, PlanData{By: ByFile, Tasks: []spec.Task{
		{ID: "one", Role: "generator"}, {ID: "two", Role: "generator"},
	}})
	one, two := s.Tasks.ByID["one"], s.Tasks.ByID["two"]
	require.Equal(t, TaskRunning, one.State)
	require.Equal(t, p, one.Result.Patch)
	require.True(t, s.Works.Carried(one))
	require.False(t, s.Works.ByPerson(one), "its role makes the next attempt")
	require.Equal(t, "b", s.Works["one"].Attempts[1].Head)
	require.Equal(t, TaskPending, two.State)
	require.False(t, s.Works.Carried(two))
}
