package phase_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// ran folds that a worker has run the final gates on the head.
func (c *crewed) ran(worker, tree, verdict string) {
	c.Helper()
	n := 1
	if w := c.Works[run.FinalTask]; w != nil {
		n = w.Last + 1
	}
	c.Gates(run.FinalTask, n, c.Head)
	c.gates(worker, run.FinalTask, n, spec.Receipt{Tree: tree, Verdict: verdict})
}

// otherEnvironment has a worker prove in another environment, whose baseline lacks something or nothing.
func (c *crewed) otherEnvironment(worker string, lacks ...string) {
	c.Append("", run.Data{At: map[string]string{worker: "e2"}, Other: &run.Other{
		Environment: "e2", Lacks: lacks, Baseline: map[string]spec.Receipt{"test": {Gate: "test", Environment: "e2", Verdict: spec.VerdictPass}},
	}})
}

// A gate of the end that one worker has passed in full with the last batch runs on another one too, as long as one that can is
// there. Batch 1 is proven in full by a; not are the workers that leave the next run to others, nil where it has ended.
func TestAGateOfTheEndPassesOnTwoWorkers(t *testing.T) {
	t.Parallel()
	pass, fail := spec.VerdictPass, spec.VerdictFail
	for name, c := range map[string]struct {
		crew  []string
		given func(l *crewed)
		not   []string
		// apart reports that a worker of another environment may run it, final is the worker of the receipt that counts, one the
		// worker on whose word alone it stands.
		apart      bool
		final, one string
		red        bool
	}{
		"another worker is there":  {crew: []string{"a", "b"}, not: []string{"a"}},
		"two others are there":     {crew: []string{"a", "b", "c"}, not: []string{"a"}},
		"it is alone":              {crew: []string{"a"}, final: "a", one: "a"},
		"it has left, none is new": {given: func(l *crewed) { l.crew() }, final: "a", one: "a"},
		"the other one is paused or drains, or has no place for gates": {given: func(l *crewed) {
			l.Append("", run.Data{Crew: run.Crew{"a": {Gates: 1}, "b": {}, "c": {Agents: 4}}})
		}, final: "a", one: "a"},
		"the other one comes back": {given: func(l *crewed) {
			l.crew("a")
			l.crew("a", "b")
		}, not: []string{"a"}},
		"it began again under its name": {given: func(l *crewed) {
			l.crew()
			l.crew("a")
		}, final: "a", one: "a"},
		"another one has passed":  {crew: []string{"a", "b"}, given: func(l *crewed) { l.ran("b", "t1", pass) }, final: "b"},
		"it has passed once more": {crew: []string{"a", "b"}, given: func(l *crewed) { l.ran("a", "t1", pass) }, not: []string{"a"}},
		"another one is in quarantine since": {crew: []string{"a", "b"}, given: func(l *crewed) {
			l.ran("b", "t1", pass)
			l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "b", By: "user:ann"}})
		}, final: "a", one: "a"},
		"it is in quarantine since": {crew: []string{"a", "b", "c"}, given: func(l *crewed) {
			l.ran("b", "t1", pass)
			l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "a", By: "user:ann"}})
		}, not: []string{"a", "b"}},
		"it was proven a second time, in full": {crew: []string{"a", "b"}, given: func(l *crewed) {
			l.Gates(run.ReproveTask+"-1", 1, "h1")
			l.gates("b", run.ReproveTask+"-1", 1, spec.Receipt{Tree: "t1", Verdict: pass})
		}, final: "b"},
		"red on another one": {crew: []string{"a", "b"}, given: func(l *crewed) { l.ran("b", "t1", fail) }, not: []string{"a"}},
		"red on another one, and a third is there": {
			crew: []string{"a", "b", "c"}, given: func(l *crewed) { l.ran("b", "t1", fail) }, not: []string{"a", "b"},
		},
		"red there, then green": {crew: []string{"a", "b"}, given: func(l *crewed) {
			l.ran("b", "t1", fail)
			l.ran("b", "t1", pass)
		}, final: "b"},
		"red there, green on a third": {crew: []string{"a", "b", "c"}, given: func(l *crewed) {
			l.ran("b", "t1", fail)
			l.ran("c", "t1", pass)
		}, final: "c"},
		"red there twice": {crew: []string{"a", "b"}, given: func(l *crewed) {
			l.ran("b", "t1", fail)
			l.ran("b", "t1", fail)
		}, red: true},
		"red on two": {crew: []string{"a", "b", "c"}, given: func(l *crewed) {
			l.ran("b", "t1", fail)
			l.ran("c", "t1", fail)
		}, red: true},
		"red on another one, which has left": {given: func(l *crewed) {
			l.crew("a", "b")
			l.ran("b", "t1", fail)
			l.crew("a")
		}, red: true},
		"the other one works in an environment that counts": {
			crew: []string{"a", "b"}, given: func(l *crewed) { l.otherEnvironment("b") }, not: []string{"a"}, apart: true,
		},
		"two environments, and both have told": {crew: []string{"a", "b"}, given: func(l *crewed) {
			l.otherEnvironment("b")
			l.Gates(run.FinalTask, 1, "h1")
			l.gates("b", run.FinalTask, 1, spec.Receipt{Tree: "t1", Environment: "e2", Verdict: pass})
		}, final: "a"},
		"the other one works in an environment that lacks something": {
			crew: []string{"a", "b"}, given: func(l *crewed) { l.otherEnvironment("b", "test: x") }, final: "a", one: "a",
		},
		"the other one works in an environment that nothing is known of": {crew: []string{"a", "b"}, given: func(l *crewed) {
			l.Append("", run.Data{At: map[string]string{"b": "e2"}})
		}, not: []string{"a"}, apart: true},
		"two others are there, one of them in the environment of the baseline": {crew: []string{"a", "b", "c"}, given: func(l *crewed) {
			l.otherEnvironment("b")
		}, not: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newCrewed(t, 0, "a", "b", "c")
			l.landed(1, "a", false)
			l.Append("", run.Data{State: run.Final, At: map[string]string{"b": "e1", "c": "e1"}})
			if c.crew != nil {
				l.crew(c.crew...)
			}
			if c.given != nil {
				c.given(l)
			}
			actions := phase.Finish(l.State, "t1")
			if c.not != nil {
				d := actions[0].(run.Assign).Dispatch
				require.Equal(t, c.not, d.Not)
				require.Equal(t, !c.apart, d.InFirst)
				require.Equal(t, []string{"test"}, d.Gates)
				return
			}
			l.Do(actions)
			if c.red {
				require.Equal(t, spec.VerdictFail, l.Final[0].Verdict)
				require.Equal(t, 1, l.Batches.FirstRed().Batch)
				require.Contains(t, strings.Join(l.Notices, "\n"), "and a signed that it passes on the same tree")
				require.Equal(t, run.Parked, phase.Finish(l.State, "t1")[0].(run.End).Data.State)
				return
			}
			require.Equal(t, c.final, l.Final[0].Worker)
			end := phase.Finish(l.State, "t1")[0].(run.End).Data
			require.Equal(t, run.Done, end.State)
			require.Equal(t, c.one, view.Of(l.State).OneWorker)
			require.Equal(t, c.one != "", strings.Contains(end.Reason, "proven by one worker"), end.Reason)
		})
	}
}

// Gates that different workers have passed run each on the other one.
func TestGatesOfTheEndThatDifferentWorkersPassed(t *testing.T) {
	t.Parallel()
	l := newCrewed(t, 0, "a", "b")
	l.Spec.Project.Gates = append(l.Spec.Project.Gates, spec.Gate{Name: "lint"})
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "lint", Worker: "z", Environment: "e1", Verdict: spec.VerdictPass}}})
	l.landed(1, "a", false)
	l.Gates(run.FinalTask, 1, "h1")
	l.gates("b", run.FinalTask, 1, spec.Receipt{Gate: "lint", Tree: "t1", Verdict: spec.VerdictPass})
	l.Append("", run.Data{State: run.Final})
	for i, gate := range []string{"test", "lint"} {
		worker, not := []string{"b", "a"}[i], []string{"a", "b"}[i]
		actions := phase.Finish(l.State, "t1")
		d := actions[0].(run.Assign).Dispatch
		require.Equal(t, []string{gate}, d.Gates)
		require.Contains(t, d.Not, not)
		l.Do(actions)
		l.gates(worker, run.FinalTask, d.Attempt, spec.Receipt{Gate: gate, Tree: "t1", Verdict: spec.VerdictPass})
	}
	l.Do(phase.Finish(l.State, "t1"))
	require.Equal(t, []string{"b", "b"}, []string{l.Final[0].Worker, l.Final[1].Worker}, "a has proven the batch")
	require.Equal(t, run.Done, phase.Finish(l.State, "t1")[0].(run.End).Data.State)
}

// Where nothing has landed, and in one process, no second worker is asked for.
func TestTheEndOfNothingAsksForNoSecondWorker(t *testing.T) {
	t.Parallel()
	l := newCrewed(t, 0, "a", "b")
	l.Append("", run.Data{State: run.Final})
	l.Do(phase.Finish(l.State, "base"))
	require.Equal(t, "z", l.Final[0].Worker)
	require.Empty(t, view.Of(l.State).OneWorker)

	l = newCrewed(t, 0, "a", "b")
	l.landed(1, "a", false)
	l.Append("", run.Data{Epoch: 2, State: run.Final})
	require.Nil(t, l.Crew)
	l.Do(phase.Finish(l.State, "t1"))
	require.Equal(t, "a", l.Final[0].Worker)
	require.Empty(t, view.Of(l.State).OneWorker)
}

// The search for the first red batch does not take the word of the worker that proved a batch in full: one that lied about batch 2
// has passed all of them.
func TestTheSearchAsksAnotherWorkerThanTheProver(t *testing.T) {
	t.Parallel()
	l := newCrewed(t, 0, "a", "b", "c")
	for n := 1; n <= 5; n++ {
		l.landed(n, "a", false)
	}
	l.Append("", run.Data{State: run.Final})
	end := l.end(func(n int) bool { return n >= 2 })
	require.Equal(t, run.Parked, end.State)
	require.Equal(t, 2, l.Batches.FirstRed().Batch)
	require.Equal(t, map[string]int{"h5": 2, "h1": 1, "h2": 1, "h3": 1}, l.runs)
}

// A gate that passes at the end because it was as red on the base commit rests on what one worker told of that: the gates run
// there on another one of its environment, and what passes there counts as new.
func TestRedThatOneWorkerTellsOfTheBaseCommit(t *testing.T) {
	t.Parallel()
	red := func(worker, tree string, signatures ...string) spec.Receipt {
		return spec.Receipt{
			Gate: "test", Worker: worker, Environment: "e1", Tree: tree, Kind: spec.KindTests, Tests: 2, Passed: 1, ExitCode: 1,
			Verdict: spec.VerdictBaseline, Signatures: signatures,
		}
	}
	for name, c := range map[string]struct {
		crew  []string
		found []string // on the base commit by the other worker
		again bool
		state run.Status
	}{
		"it is a lie":             {crew: []string{"a", "b", "z"}, again: true, state: run.Parked},
		"it is true":              {crew: []string{"a", "b", "z"}, found: []string{"test: x"}, again: true, state: run.Done},
		"another failure was it":  {crew: []string{"a", "b", "z"}, found: []string{"test: y"}, again: true, state: run.Parked},
		"no other worker is left": {crew: []string{"z"}, state: run.Done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newCrewed(t, 0, "a", "b", "z")
			l.Append("", run.Data{Baseline: []spec.Receipt{red("z", "base", "test: x")}})
			l.landed(1, "a", false)
			l.Append("", run.Data{State: run.Final})
			l.Gates(run.FinalTask, 1, "h1")
			l.gates("b", run.FinalTask, 1, red("b", "t1", "test: x"))
			l.crew(c.crew...)
			actions := phase.Finish(l.State, "t1")
			if c.again {
				d := actions[0].(run.Assign).Dispatch
				require.Equal(t, run.AgainTask, d.Task)
				require.Equal(t, []string{"z"}, d.Not)
				require.Equal(t, "b", d.Head, "the base commit")
				l.Do(actions)
				require.False(t, phase.Over(l.State), "it waits")
				r := red("a", "base", c.found...)
				if len(c.found) == 0 {
					r.ExitCode, r.Verdict = 0, spec.VerdictPass
				}
				l.gates("a", run.AgainTask, 1, r)
				actions = phase.Finish(l.State, "t1")
			}
			l.Do(actions)
			end := phase.Finish(l.State, "t1")[0].(run.End).Data
			require.Equal(t, c.state, end.State, end.Reason)
			told := slices.ContainsFunc(l.Notices, func(n string) bool {
				return n == "gate test fails at the end, and failed on the base commit on worker z alone, not on a: test: x"
			})
			require.Equal(t, c.state == run.Parked, told, "%v", l.Notices)
		})
	}
}

// Where no run on the base commit tells anything, the end does not wait for ever.
func TestTheBaseCommitIsNotTriedForEver(t *testing.T) {
	t.Parallel()
	l := newCrewed(t, 0, "a", "b", "z")
	base := spec.Receipt{
		Gate: "test", Worker: "z", Environment: "e1", Tree: "base", Kind: spec.KindTests, Tests: 2, Passed: 1, ExitCode: 1,
		Verdict: spec.VerdictBaseline, Signatures: []string{"test: x"},
	}
	l.Append("", run.Data{Baseline: []spec.Receipt{base}})
	l.landed(1, "a", false)
	l.Append("", run.Data{State: run.Final})
	l.Gates(run.FinalTask, 1, "h1")
	base.Tree = "t1"
	l.gates("b", run.FinalTask, 1, base)
	n := 0
	for ; len(l.Final) == 0; n++ {
		actions := phase.Finish(l.State, "t1")
		l.Do(actions)
		if assign, ok := actions[0].(run.Assign); ok {
			d := assign.Dispatch
			l.By("a", d.Task, d.Attempt, contextscope.KindStarted, wire.Started{Delivery: 1})
			l.By("a", d.Task, d.Attempt, contextscope.KindResult, runtest.Failed(wire.FaultInternal, "no"))
		}
	}
	require.Equal(t, 5, n)
	require.Equal(t, run.Done, phase.Finish(l.State, "t1")[0].(run.End).Data.State)
}
