package landing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// aloneTests is a run with the accepted patch of a test-writer that is in no change set.
func aloneTests(t *testing.T, patch *spec.Patch) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}
	s.Roles["test-writer"] = spec.Role{
		Name: "test-writer", Executor: spec.ExecutorModel, Writes: true, Proves: spec.ProvesRedGreen,
	}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	l.Plan(spec.Task{ID: "tests", Role: "test-writer", Files: []string{"p/*_test.go"}, Attempts: 9})
	l.Dispatched("tests", "test-writer", 1, "b")
	l.Ended("tests", 1, spec.Result{Status: spec.StatusDone, Patch: patch})
	l.Append("tests", run.TaskData{State: run.TaskAccepted})
	return l
}

// tried is the result of the mutants of the tests.
func tried(r spec.Receipt) spec.Result {
	r.Gate, r.Tree, r.Verdict = spec.MutantsGate, "merged", spec.VerdictPass
	result := spec.Result{Status: spec.StatusDone}
	if len(r.Kills) == 0 {
		r.Verdict, r.ExitCode = spec.VerdictFail, 1
		result = runtest.Failed(wire.FaultGate, "red")
	}
	result.Receipts = []spec.Receipt{r}
	return result
}

// Tests of code that exists wait until they have found a mutant of it.
func TestTestsOfCodeThatExistsAreProvenByMutants(t *testing.T) {
	t.Parallel()
	l := aloneTests(t, ownTests())
	require.Empty(t, landing.Land(l.State), "they wait for their proof")
	actions := proveRed(t, l)
	require.Equal(t, []string{"assign tests--red/1 to tester on l-tests"}, runtest.Describe(actions))
	assign, ok := actions[0].(run.Assign)
	require.True(t, ok)
	require.Equal(t, []string{spec.MutantsGate}, assign.Dispatch.Gates)
	l.Do(actions)
	require.Empty(t, landing.ProveRed(l.State), "mutants are tried")
	l.Ended("tests--red", 1, tried(spec.Receipt{Kills: []string{"p/x.go:3 in F: a made b"}}))
	l.Do(landing.ProveRed(l.State))
	require.Equal(t, []string{"p/x.go:3 in F: a made b"}, l.Tasks.ByID["tests"].Red.Failed)
	require.Empty(t, landing.ProveRed(l.State), "they are proven once")
	m, ok := landing.Land(l.State)[0].(landing.Merge)
	require.True(t, ok)
	require.Len(t, m.Candidates, 1)
}

func TestTestsThatFindNoMutantGoBack(t *testing.T) {
	t.Parallel()
	l := aloneTests(t, ownTests())
	l.Do(proveRed(t, l))
	l.Ended("tests--red", 1, tried(spec.Receipt{Signatures: []string{"they find nothing"}, Tail: "no test finds a made b\n"}))
	actions := landing.ProveRed(l.State)
	require.Equal(t, []string{"task tests pending they find nothing"}, runtest.Describe(actions))
	l.Do(actions)
	fault := l.Tasks.ByID["tests"].Faults[0].Fault
	require.Equal(t, wire.FaultProof, fault.Class)
	require.Equal(t, "no test finds a made b\n", fault.Detail, "the brief of the next attempt")

	l = aloneTests(t, ownTests())
	l.Do(proveRed(t, l))
	green := tried(spec.Receipt{Kills: []string{"x"}})
	green.Receipts[0].Kills = nil
	l.Ended("tests--red", 1, green)
	actions = landing.ProveRed(l.State)
	require.Equal(t, []string{"task tests pending the new tests find no change of the code"}, runtest.Describe(actions),
		"green, and without a mutant")

	l = aloneTests(t, nil)
	require.Equal(t, []string{"task tests pending the task wrote no test"}, runtest.Describe(landing.ProveRed(l.State)))
}
