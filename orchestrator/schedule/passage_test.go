package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
)

// While a passage is open nothing else that changes files begins.
func TestTasksWaitForTheEndOfAPassage(t *testing.T) {
	t.Parallel()
	roles := map[string]spec.Role{"sh": {Name: "sh", Writes: true}, "look": {Name: "look"}}
	project := spec.Project{Gates: []spec.Gate{{Name: "build"}}}
	l := runtest.New(t, run.Spec{Base: "b", Parallel: 9, AutoApprove: true, Roles: roles, Project: project}, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "build", Verdict: spec.VerdictPass}}})
	build := []string{"build"}
	l.Plan(spec.Task{ID: "define", Role: "sh", Files: []string{"a"}, Through: build}, spec.Task{ID: "uses", Role: "sh", Files: []string{"b"}, Mends: build},
		spec.Task{ID: "other", Role: "sh", Files: []string{"c"}, Gates: []string{"none"}}, spec.Task{ID: "reads", Role: "look"})
	red := spec.Receipt{Gate: "build", Tree: "t1", ExitCode: 1, Kind: spec.KindFindings, Signatures: []string{"b.go: x"}, Verdict: spec.VerdictPassage}
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingLed, Old: "b", Head: "h1", Tree: "t1", Through: build, Receipts: []spec.Receipt{red},
		Tasks: []run.Landed{{Task: "define", Attempt: 1, Commit: "h1"}},
	})
	require.Equal(t, map[string]string{"other": "waits for the end of the passage through build"}, schedule.Why(l.State))
	for _, a := range schedule.Dispatch(l.State) {
		require.Equal(t, "h1", a.(run.Assign).Dispatch.Head)
	}
}
