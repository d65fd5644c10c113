package landing_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// newTests is a run with a set of a test-writer, whose patch is accepted, and a generator that is at work.
func newTests(t *testing.T, patch *spec.Patch) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}
	s.Roles["test-writer"] = spec.Role{
		Name: "test-writer", Executor: spec.ExecutorModel, Writes: true, Proves: spec.ProvesRedGreen,
	}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{
		Gate: "test", Verdict: spec.VerdictBaseline, ExitCode: 1, Signatures: []string{"test: old"},
	}}})
	l.Plan(spec.Task{ID: "tests", Role: "test-writer", ChangeSet: "s", Files: []string{"p/*_test.go"}, Attempts: 9},
		spec.Task{ID: "change", Role: "generator", ChangeSet: "s", Files: []string{"q/x.go"}})
	l.Dispatched("tests", "test-writer", 1, "b")
	l.Dispatched("change", "generator", 1, "b")
	l.Ended("tests", 1, spec.Result{Status: spec.StatusDone, Patch: patch})
	l.Append("tests", run.TaskData{State: run.TaskAccepted})
	return l
}

func ownTests() *spec.Patch {
	return &spec.Patch{Commit: "c-tests", Tree: "tree-tests", Base: "b", Files: []string{"p/x_test.go"}}
}

// hand folds that the change of the set is accepted too.
func hand(l *runtest.Log) {
	l.Ended("change", 1, runtest.Patched("c-change", "tree-change", "b"))
	l.Append("change", run.TaskData{State: run.TaskAccepted})
}

// proveRed merges the tests alone and proposes what follows from the chain.
func proveRed(t *testing.T, l *runtest.Log) []run.Action {
	t.Helper()
	actions := landing.ProveRed(l.State)
	require.Len(t, actions, 1)
	m, ok := actions[0].(landing.Merge)
	require.True(t, ok, "%T", actions[0])
	require.Equal(t, "b", m.Onto)
	require.Len(t, m.Candidates, 1)
	require.Equal(t, "tests", m.Candidates[0].Task, "without the change")
	return m.Then(chainOf(m.Candidates, nil))
}

// redOf is a receipt of the merged tests, with each failure's paths.
func redOf(failed map[string][]string) spec.Result {
	if len(failed) == 0 {
		return green("merged")
	}
	r := redIn("merged")
	r.Receipts[0].Signatures, r.Receipts[0].Paths = slices.Sorted(maps.Keys(failed)), failed
	return r
}

func TestTheTestsOfASetAreTestedAloneBeforeItIsMerged(t *testing.T) {
	t.Parallel()
	l := newTests(t, ownTests())
	actions := proveRed(t, l)
	require.Equal(t, []string{"assign tests--red/1 to tester on l-tests"}, runtest.Describe(actions), "while the change is at work")
	l.Do(actions)
	hand(l)
	require.Empty(t, landing.ProveRed(l.State), "the gates are at work")
	require.Empty(t, landing.Land(l.State), "the set waits for its proof")
	l.Ended("tests--red", 1, redOf(map[string][]string{"test: new": {"p"}}))
	require.Empty(t, landing.Land(l.State))
	actions = landing.ProveRed(l.State)
	require.Equal(t, []string{"task tests accepted"}, runtest.Describe(actions))
	l.Do(actions)
	require.Equal(t, &run.Red{
		Of: 1, Run: 1, Tree: "merged", Since: "b", Failed: []string{"test: test: new"}, In: []string{""},
	}, l.Tasks.ByID["tests"].Red)
	require.Empty(t, landing.ProveRed(l.State), "it is proven once")
	m, ok := landing.Land(l.State)[0].(landing.Merge)
	require.True(t, ok)
	require.Len(t, m.Candidates, 2)
}

func TestWhatProvesATest(t *testing.T) {
	t.Parallel()
	const (
		proven  = "task tests accepted"
		nothing = "task tests pending the new tests pass without the change: they prove nothing"
		other   = "task tests pending without the change the gates fail in nothing that this task wrote: "
	)
	for name, c := range map[string]struct {
		failed map[string][]string
		want   string
		red    []string
	}{
		"a test in the directory of the new file": {map[string][]string{"test: new": {"p"}}, proven, []string{"test: test: new"}},
		"a name that the change brings": {
			map[string][]string{"build: p/x_test.go: undefined: Half": {"p/x_test.go"}, "build: package p": {"p"}},
			proven,
			[]string{"test: build: p/x_test.go: undefined: Half"},
		},
		"only what is its own counts": {
			map[string][]string{"test: new": {"p"}, "test: far": {"q"}}, proven, []string{"test: test: new"},
		},
		"nothing fails":                  {nil, nothing, nil},
		"what failed on the base commit": {map[string][]string{"test: old": {"p"}}, nothing, nil},
		"a test elsewhere":               {map[string][]string{"test: far": {"q"}}, other + "test: test: far", nil},
		"an error in another file beside it": {
			map[string][]string{"build: p/y.go: undefined: Half": {"p/y.go"}, "build: package p": {"p"}},
			other + "test: build: p/y.go: undefined: Half, test: build: package p", nil,
		},
		"a failure without a path": {map[string][]string{"test: lost": nil}, other + "test: test: lost", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, known := range []bool{false, true} {
				l := newTests(t, ownTests())
				if known { // the tree was tested before: it is not tested again
					l.Gates(run.FinalTask, 1, "x")
					l.Ended(run.FinalTask, 1, redOf(c.failed))
				} else {
					l.Do(proveRed(t, l))
					l.Ended("tests--red", 1, redOf(c.failed))
				}
				var actions []run.Action
				if known {
					actions = proveRed(t, l)
				} else {
					actions = landing.ProveRed(l.State)
				}
				require.Equal(t, []string{c.want}, runtest.Describe(actions), "known before: %t", known)
				l.Do(actions)
				if c.red == nil {
					require.Equal(t, wire.FaultProof, l.Tasks.ByID["tests"].Faults[0].Fault.Class)
					require.False(t, l.Tasks.ByID["tests"].ProvedRed())
					continue
				}
				require.Equal(t, c.red, l.Tasks.ByID["tests"].Red.Failed)
				require.True(t, l.Tasks.ByID["tests"].ProvedRed())
			}
		})
	}
}

func TestTestsThatCannotBeMergedAloneGoBack(t *testing.T) {
	t.Parallel()
	l := newTests(t, nil)
	require.Equal(t, []string{"task tests pending the task wrote no test"}, runtest.Describe(landing.ProveRed(l.State)))

	l = newTests(t, ownTests())
	m, ok := landing.ProveRed(l.State)[0].(landing.Merge)
	require.True(t, ok)
	conflict := landing.Conflict{Candidate: m.Candidates[0], Paths: []string{"p/x_test.go"}, Message: "both added"}
	actions := m.Then(landing.Chain{Head: "b", Conflicts: []landing.Conflict{conflict}})
	require.Equal(t, []string{
		"task tests pending without the rest of its change set it conflicts with landed changes in p/x_test.go",
	}, runtest.Describe(actions))
	l.Do(actions)
	require.Equal(t, wire.FaultConflict, l.Tasks.ByID["tests"].Faults[0].Fault.Class)
}

// Gates that could not be run are no proof. They run again, and a resumed run tries again as often.
func TestGatesOfTestsThatCannotBeRunAreTriedAgain(t *testing.T) {
	t.Parallel()
	l := newTests(t, ownTests())
	l.Do(proveRed(t, l))
	broken := func(try int) []string {
		l.Ended("tests--red", try, runtest.Failed(wire.FaultInternal, "no slot"))
		actions := landing.ProveRed(l.State)
		l.Do(actions)
		return runtest.Describe(actions)
	}
	require.Equal(t, []string{"assign tests--red/2 to tester on l-tests"}, broken(1))
	l.Ended("tests--red", 2, redOf(nil))
	l.Do(landing.ProveRed(l.State))
	require.Equal(t, run.TaskPending, l.Tasks.ByID["tests"].State)

	l.Dispatched("tests", "test-writer", 2, "b")
	l.Ended("tests", 2, spec.Result{Status: spec.StatusDone, Patch: &spec.Patch{Commit: "c2", Tree: "t2", Base: "b", Files: []string{"p/x_test.go"}}})
	l.Append("tests", run.TaskData{State: run.TaskAccepted})
	m, ok := landing.ProveRed(l.State)[0].(landing.Merge)
	require.True(t, ok)
	l.Do(m.Then(landing.Chain{Head: "l2", Tree: "merged-2", Merged: []landing.Merged{{Candidate: m.Candidates[0]}}}))
	for _, want := range []string{
		"assign tests--red/4 to tester on l2", "assign tests--red/5 to tester on l2",
		"fail: the gates of the tests of tests could not be run: no slot",
	} {
		try := l.Tasks.ByID["tests"].Red.Run
		require.Equal(t, []string{want}, broken(try), "the runs of an earlier attempt do not count")
	}
	l.Append("", run.Data{State: run.Running, Epoch: l.Epoch + 1})
	require.Equal(t, []string{"assign tests--red/6 to tester on l2"}, runtest.Describe(landing.ProveRed(l.State)))
}

func TestTheTestsOfALostSetAreNotTested(t *testing.T) {
	t.Parallel()
	l := newTests(t, ownTests())
	l.Append("change", run.TaskData{State: run.TaskParked, Reason: "no"})
	require.Empty(t, landing.ProveRed(l.State))
}
