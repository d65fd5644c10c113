package acceptance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

const unproven = "no gate proves a change of package web: on the base commit it did not run in test"

// partly is a run whose package web no gate can prove; its tasks have changed files of web, of another package, and of both.
func partly(t *testing.T, change func(s *run.Spec)) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Roles: runtest.Roles(), Plan: &spec.Plan{}, Project: spec.Project{Gates: []spec.Gate{{Name: "test"}}}}
	if change != nil {
		change(&s)
	}
	l := runtest.New(t, s, run.Running)
	for id, files := range map[string][]string{"web": {"web/a.go"}, "api": {"api/a.go"}, "both": {"api/b.go", "web/b.go"}} {
		l.Plan(spec.Task{ID: id, Role: "generator"})
		l.Dispatched(id, "generator", 1, "b")
		l.Ended(id, 1, spec.Result{Status: spec.StatusDone, Patch: &spec.Patch{Commit: id, Base: "b", Tree: id, Files: files}})
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	return l
}

var hidden = run.Data{Baseline: []spec.Receipt{{
	Gate: "test", ExitCode: 1, Kind: spec.KindTests, Tests: 3, Passed: 3, Signatures: []string{"build: web/a.go: undefined: x"},
	Hidden: []string{"package: web"},
}}}

func TestAPatchThatNoGateCanProveIsAskedAbout(t *testing.T) {
	t.Parallel()
	l := partly(t, nil)
	require.Empty(t, acceptance.AskUnprovable(l.State), "the baseline is not known")
	l.Append("", hidden)
	for range 2 {
		actions := acceptance.AskUnprovable(l.State)
		require.Len(t, actions, 1)
		l.Do(actions)
	}
	require.Empty(t, acceptance.AskUnprovable(l.State))
	require.Equal(t, run.TaskAccepted, l.Tasks.ByID["api"].State)
	for _, id := range []string{"web", "both"} {
		held := l.Tasks.ByID[id]
		require.Equal(t, run.TaskHeld, held.State)
		require.Equal(t, []string{unproven}, held.Doubt().Evidence)
		l.Do(recovery.Decide(&l.Agenda, l.Works, held, run.Answer{Option: run.Accept, By: "user:ada"}))
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	require.Empty(t, acceptance.AskUnprovable(l.State), "it was decided")
	require.Equal(t, unproven, proof.UnverifiedPatch(&l.Agenda, &l.Proofs, l.Tasks.ByID["both"]))
	require.Empty(t, proof.UnverifiedPatch(&l.Agenda, &l.Proofs, l.Tasks.ByID["api"]))
	require.Empty(t, proof.Unverified(&l.Agenda, &l.Proofs), "the run as a whole is proven")
}

func TestAnAnswerToAnotherDoubtDoesNotCount(t *testing.T) {
	t.Parallel()
	l := partly(t, nil)
	l.Append("web", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"fewer tests"}}})
	l.Do(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["web"], run.Answer{Option: run.Accept, By: "user:ada"}))
	l.Append("web", run.TaskData{State: run.TaskAccepted})
	l.Append("", hidden)
	l.Do(acceptance.AskUnprovable(l.State))
	l.Do(acceptance.AskUnprovable(l.State))
	require.Equal(t, run.TaskHeld, l.Tasks.ByID["web"].State)
}

func TestWhereAllMayLandUnverifiedNothingIsAsked(t *testing.T) {
	t.Parallel()
	l := partly(t, func(s *run.Spec) { s.AllowUnverified = true })
	l.Append("", hidden)
	require.Empty(t, acceptance.AskUnprovable(l.State))
	require.Equal(t, unproven, proof.UnverifiedPatch(&l.Agenda, &l.Proofs, l.Tasks.ByID["web"]))
}

func TestWhatLandedUnverifiedIsNamed(t *testing.T) {
	t.Parallel()
	l := partly(t, nil)
	l.Append("", hidden)
	require.Empty(t, proof.UnverifiedLanded(&l.Agenda, &l.Branch))
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "l", Tasks: []run.Landed{
		{Task: "api", Commit: "k"}, {Task: "web", Commit: "l", Unverified: unproven},
	}})
	require.Equal(t, "1 of 2 landed patches (web): "+unproven, proof.UnverifiedLanded(&l.Agenda, &l.Branch))
}
