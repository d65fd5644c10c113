package request

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// refused is a run in which the agent of t asked for a path and did not get it.
func refused(t *testing.T, path string) *runtest.Log {
	t.Helper()
	l := asking(t, wire.Request{Kind: wire.RequestScope, Paths: []string{path}, Reason: "the caller\nis there"})
	l.Spec.Project.Protected = []string{"**/*_test.go"}
	l.Append("t", wire.Answer{Request: "t/1/scope-1-0", Refused: "no"})
	return l
}

func TestARefusedScopeBecomesATaskToFollow(t *testing.T) {
	t.Parallel()
	l := refused(t, "u.go")
	require.Empty(t, Follow(l.State), "its agent is at work")
	l.Append("t", run.TaskData{State: run.TaskLanded})
	actions := Follow(l.State)
	require.Len(t, actions, 1)
	ask, ok := actions[0].(run.Expand)
	require.True(t, ok)
	task := ask.Plan.Tasks[0]
	require.Equal(t, "t-follows-1-0", task.ID)
	require.Equal(t, []string{"u.go"}, task.Files)
	require.Equal(t, []string{"t"}, task.DependsOn)
	require.Contains(t, task.Brief, narrative.Quote("the caller\nis there"))
	require.Equal(t, "What t could not write", task.Title, "no words of its agent stand outside of the quote")
	l.Do(ask.Then(run.PlanData{Tasks: []spec.Task{task}}, nil))
	require.Equal(t, run.TaskPending, l.Tasks.ByID["t-follows-1-0"].State)
	require.True(t, l.Approval(l.Tasks.ByID["t-follows-1-0"]), "as a granted scope needs no approval")
	require.Negative(t, l.Plans.ToApprove())
	require.Empty(t, Follow(l.State), "once")
}

func TestWhatCannotFollowIsReportedAlone(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"protected": "a_test.go", "outside": "../x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := refused(t, path)
			l.Append("t", run.TaskData{State: run.TaskDone})
			require.Equal(t, []string{"plan by t/1"}, runtest.Describe(Follow(l.State)))
			l.Do(Follow(l.State))
			require.Empty(t, Follow(l.State))
			require.Len(t, l.Tasks.ByID, 2)
		})
	}
	l := refused(t, "u.go")
	l.Append("t", run.TaskData{State: run.TaskParked})
	require.Empty(t, Follow(l.State), "its task was given up")
	l = refused(t, "u.go")
	l.Spec.Plan = nil
	l.Append("t", run.TaskData{State: run.TaskDone})
	require.Empty(t, Follow(l.State), "the master decides")
}
