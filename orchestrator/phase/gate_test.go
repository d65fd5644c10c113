package phase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// A gate that was added runs on the base commit alone. It counts where what it found there can be compared, and is dropped elsewhere.
func TestAnAddedGateRunsOnTheBaseCommit(t *testing.T) {
	t.Parallel()
	done := func(r spec.Receipt) spec.Result {
		r.Gate, r.Environment = "windows", "with it"
		test := spec.Receipt{Gate: "test", Verdict: spec.VerdictPass, Environment: "with it"}
		return spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{test, r}}
	}
	broken := done(spec.Receipt{Verdict: spec.VerdictPass})
	broken.Receipts[0].Verdict, broken.Receipts[0].TimedOut = spec.VerdictFail, true

	for name, c := range map[string]struct {
		result  spec.Result
		again   bool
		dropped string
	}{
		"green":              {result: done(spec.Receipt{Verdict: spec.VerdictPass})},
		"red and comparable": {result: done(spec.Receipt{Verdict: spec.VerdictFail, ExitCode: 1, Kind: spec.KindFindings, Signatures: []string{"a.go: undefined: x"}})},
		"red without a name": {result: done(spec.Receipt{Verdict: spec.VerdictFail, ExitCode: 1}), dropped: "its output names no test"},
		"without a test":     {result: done(spec.Receipt{Verdict: spec.VerdictPass, Kind: spec.KindTests}), dropped: "windows ran no test"},
		"no such program":    {result: runtest.Failed(wire.FaultSetup, "gate windows cannot be run"), dropped: "gate windows cannot be run"},
		"the machine failed": {result: runtest.Failed(wire.FaultInternal, "no space"), again: true},
		"another gate fails": {result: broken, dropped: "test it timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Project: spec.Project{Gates: []spec.Gate{{Name: "test"}}}}
			l := runtest.New(t, s, run.Running)
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Environment: "e"}}})
			require.Empty(t, phase.Baseline(l.State))
			l.Append("", run.Data{Gate: &run.AddedGate{Gate: spec.Gate{Name: "windows", Command: []string{"w"}}}})
			actions := phase.Baseline(l.State)
			require.Equal(t, []string{"assign --gate-1/1 to tester on b"}, runtest.Describe(actions))
			require.Empty(t, actions[0].(run.Assign).Dispatch.Gates, "all run: the program of a gate is a part of the environment")
			l.Do(actions)
			require.Empty(t, phase.Baseline(l.State), "it is at work")
			for n := 1; ; n++ {
				l.Ended("--gate-1", n, c.result)
				l.Do(phase.Baseline(l.State))
				if c.again && n == 3 {
					require.Equal(t, []string{"test"}, l.Spec.GateNames(), "the tries have an end")
				}
				if !c.again || n == 3 {
					break
				}
				require.False(t, l.Baselined())
			}
			require.True(t, l.Baselined())
			require.Empty(t, phase.Baseline(l.State))
			if c.dropped != "" {
				require.Contains(t, l.Spec.Added[0].Dropped, c.dropped)
				require.Equal(t, []string{"test"}, l.Spec.GateNames())
				require.Equal(t, "e", l.Proofs.Reference(), "what was found before counts again")
			} else if !c.again {
				require.Equal(t, "with it", l.Proofs.Reference())
			}
		})
	}
}

// Of two gates that are added at once the one that proves nothing is dropped, and the other one is tried without it: the program
// of a gate is a part of the environment.
func TestOneOfTwoAddedGatesIsDropped(t *testing.T) {
	t.Parallel()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Project: spec.Project{Gates: []spec.Gate{{Name: "test"}}}}
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Environment: "e"}}})
	for _, name := range []string{"good", "bad"} {
		l.Append("", run.Data{Gate: &run.AddedGate{Gate: spec.Gate{Name: name, Command: []string{name}}}})
	}
	l.Do(phase.Baseline(l.State))
	result := func(environment string, gates ...string) spec.Result {
		r := spec.Result{Status: spec.StatusDone}
		for _, name := range gates {
			r.Receipts = append(r.Receipts, spec.Receipt{Gate: name, Verdict: spec.VerdictPass, Environment: environment, TimedOut: name == "bad"})
			if name == "bad" {
				r.Receipts[len(r.Receipts)-1].Verdict, r.Receipts[len(r.Receipts)-1].ExitCode = spec.VerdictFail, 1
			}
		}
		return r
	}
	l.Ended("--gate-1", 1, result("both", "test", "good", "bad"))
	l.Do(phase.Baseline(l.State))
	require.Equal(t, []string{"test", "good"}, l.Spec.GateNames())
	again := phase.Baseline(l.State)
	require.Equal(t, []string{"assign --gate-1/2 to tester on b"}, runtest.Describe(again))
	l.Do(again)
	l.Ended("--gate-1", 2, result("one", "test", "good"))
	l.Do(phase.Baseline(l.State))
	require.True(t, l.Baselined())
	require.Equal(t, "one", l.Proofs.Reference())
}
