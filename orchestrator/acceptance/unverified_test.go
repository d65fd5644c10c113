package acceptance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/acceptance"
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
		l.Do(acceptance.Rule(l.State, held, run.Ruling{By: "user:ada", Accept: true}))
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	require.Empty(t, acceptance.AskUnprovable(l.State), "it was decided")
	require.Equal(t, unproven, acceptance.UnverifiedPatch(l.State, l.Tasks.ByID["both"]))
	require.Empty(t, acceptance.UnverifiedPatch(l.State, l.Tasks.ByID["api"]))
	require.Empty(t, acceptance.Unverified(l.State), "the run as a whole is proven")
}

func TestAnAnswerToAnotherDoubtDoesNotCount(t *testing.T) {
	t.Parallel()
	l := partly(t, nil)
	l.Append("web", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"fewer tests"}}})
	l.Append("web", run.TaskData{State: run.TaskRunning, Ruling: &run.Ruling{By: "user:ada", Accept: true}})
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
	require.Equal(t, unproven, acceptance.UnverifiedPatch(l.State, l.Tasks.ByID["web"]))
}

func TestWhatLandedUnverifiedIsNamed(t *testing.T) {
	t.Parallel()
	l := partly(t, nil)
	l.Append("", hidden)
	require.Empty(t, acceptance.UnverifiedLanded(l.State))
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "l", Tasks: []run.Landed{
		{Task: "api", Commit: "k"}, {Task: "web", Commit: "l", Unverified: unproven},
	}})
	require.Equal(t, "1 of 2 landed patches (web): "+unproven, acceptance.UnverifiedLanded(l.State))
}

// A run with many gates names a few of them.
func TestManyGatesAreCounted(t *testing.T) {
	t.Parallel()
	l := partly(t, nil)
	l.Spec.Project.Gates = nil
	var baseline []spec.Receipt
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		l.Spec.Project.Gates = append(l.Spec.Project.Gates, spec.Gate{Name: name})
		baseline = append(baseline, spec.Receipt{Gate: name, ExitCode: 1, Verdict: spec.VerdictFail})
	}
	l.Append("", run.Data{Baseline: baseline})
	require.Equal(t, "no comparison with the base commit for: a, b, c, d and 2 more", acceptance.Unverified(l.State))
}

// Where go cannot load a package, go build builds nothing, and the tests of the others are the proof; but not where gates were written
// down, and not where no test ran.
func TestADetectedBuildIsCoveredByTheTests(t *testing.T) {
	t.Parallel()
	build := spec.Receipt{
		Gate: "go-build-web", ExitCode: 1, Kind: spec.KindFindings, Build: true, Signatures: []string{"ui.go: pattern dist: no files found"},
		Hidden: []string{spec.HiddenAll},
	}
	test := hidden.Baseline[0]
	test.Gate = "go-test-web"
	none := test
	none.Tests, none.Passed = 0, 0
	for _, c := range []struct {
		name     string
		detected bool
		test     spec.Receipt
		want     string
	}{
		{"detected", true, test, ""},
		{"written down", false, test, "no comparison with the base commit for: go-build-web"},
		{"without a test", true, none, "no comparison with the base commit for: go-build-web, go-test-web"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := partly(t, func(s *run.Spec) {
				s.Detected, s.Project.Gates = c.detected, []spec.Gate{{Name: "go-build-web"}, {Name: "go-test-web"}}
			})
			require.Equal(t, c.want, acceptance.Unverified(l.WithBaseline([]spec.Receipt{build, c.test})))
		})
	}
}
