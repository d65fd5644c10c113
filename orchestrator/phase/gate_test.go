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
		r.Gate = "windows"
		return spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}}
	}
	for name, c := range map[string]struct {
		result  spec.Result
		again   bool
		dropped string
	}{
		"green":               {result: done(spec.Receipt{Verdict: spec.VerdictPass, Environment: "e"})},
		"red and comparable":  {result: done(spec.Receipt{Verdict: spec.VerdictFail, ExitCode: 1, Environment: "e", Kind: spec.KindFindings, Signatures: []string{"a.go: undefined: x"}})},
		"red without a name":  {result: done(spec.Receipt{Verdict: spec.VerdictFail, ExitCode: 1, Environment: "e"}), dropped: "its output names no test"},
		"without a test":      {result: done(spec.Receipt{Verdict: spec.VerdictPass, Environment: "e", Kind: spec.KindTests}), dropped: "no test ran"},
		"no such program":     {result: runtest.Failed(wire.FaultSetup, "gate windows cannot be run"), dropped: "gate windows cannot be run"},
		"the machine failed":  {result: runtest.Failed(wire.FaultInternal, "no space"), again: true},
		"another environment": {result: done(spec.Receipt{Verdict: spec.VerdictPass, Environment: "other"}), again: true},
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
			require.Equal(t, []string{"windows"}, actions[0].(run.Assign).Dispatch.Gates)
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
			} else if !c.again {
				require.Equal(t, "windows", l.Proofs.Baseline["windows"].Gate)
			}
		})
	}
}
