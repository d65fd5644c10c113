package run_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// The environments of the table: that of the baseline, one that counts, one that lacks something, one that is not known.
const (
	first   = "e1"
	second  = "e2"
	weak    = "e3"
	unknown = "e4"
)

func twoBaselines(t *testing.T, keys map[string][]byte) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Keys: keys}
	s.Project.Gates = []spec.Gate{{Name: "g"}}
	l := runtest.New(t, s, run.Running)
	base := func(environment string, signatures ...string) spec.Receipt {
		return spec.Receipt{Gate: "g", Tree: "base", Environment: environment, Verdict: spec.VerdictFail, Signatures: signatures}
	}
	l.Append("", run.Data{Baseline: []spec.Receipt{base(first, "x", "y")}})
	for environment, lacks := range map[string][]string{second: nil, weak: {"g: z"}} {
		l.Append("", run.Data{Other: &run.Other{
			Environment: environment, Baseline: map[string]spec.Receipt{"g": base(environment, "x")}, Lacks: lacks,
		}})
	}
	return l
}

// A receipt counts against the baseline of its own environment, where nothing is lacking there. What failed in one environment is
// open until it passes in that one: a pass in another one proves no flake, and counts as a second run.
func TestReceiptsOfSeveralEnvironments(t *testing.T) {
	t.Parallel()
	type runs []struct {
		environment string
		green       bool
	}
	two := []string{"g: y", "g: z"} // the second fails in x alone
	for name, c := range map[string]struct {
		runs   runs
		proven bool
		failed int // runs
		flakes []string
	}{
		"green in the first":                    {runs: runs{{first, true}}, proven: true},
		"green in the second":                   {runs: runs{{second, true}}, proven: true},
		"green where something is lacking":      {runs: runs{{weak, true}}},
		"green in one that is not known":        {runs: runs{{unknown, true}}},
		"red where something is lacking":        {runs: runs{{weak, false}, {first, true}}, proven: true},
		"red in the first, green in the other":  {runs: runs{{first, false}, {second, true}}, failed: 2},
		"red in the second, green in the first": {runs: runs{{second, false}, {first, true}}, failed: 2},
		"red in both":                           {runs: runs{{second, false}, {first, false}}, failed: 2},
		"a flake of the first":                  {runs: runs{{first, false}, {first, true}}, proven: true, flakes: []string{"g: z"}},
		"a flake of the second":                 {runs: runs{{second, false}, {second, true}}, proven: true, flakes: two},
		"it passes in the end":                  {runs: runs{{second, false}, {first, true}, {second, true}}, proven: true, flakes: two},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := twoBaselines(t, nil)
			for i, r := range c.runs {
				ranGate(l, i+1, r.green, spec.Receipt{Environment: r.environment, Signatures: []string{"x", "y", "z"}})
			}
			gates := []string{"g"}
			require.Equal(t, c.proven, l.Proofs.IsProven("t", gates, ""))
			require.Equal(t, c.failed, l.Proofs.Runs("t", gates, ""))
			require.Equal(t, c.flakes, l.Proofs.Flakes())
		})
	}
}

// What a worker found on the base commit in a new environment is kept until it is compared: all gates, of one environment, of the
// base commit, signed.
func TestReceiptsOfTheBaseCommit(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*spec.Receipt)
		class  string
		made   bool
	}{
		"right":                      {func(*spec.Receipt) {}, wire.FaultForeign, true},
		"another fault":              {func(*spec.Receipt) {}, wire.FaultGate, false},
		"another tree":               {func(r *spec.Receipt) { r.Tree = "other" }, wire.FaultForeign, false},
		"a known environment":        {func(r *spec.Receipt) { r.Environment = second }, wire.FaultForeign, false},
		"another gate":               {func(r *spec.Receipt) { r.Gate = "h" }, wire.FaultForeign, false},
		"the environment is unknown": {func(r *spec.Receipt) { r.Environment = "" }, wire.FaultForeign, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := twoBaselines(t, map[string][]byte{"a": public})
			l.Append("", run.LandingData{
				Batch: 1, State: run.LandingTesting, Old: "b", Head: "h", Tree: "tree",
				Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: spec.RoleTester, Gates: []string{"g"}},
			})
			r := spec.Receipt{Gate: "g", Tree: "base", Environment: unknown, Verdict: spec.VerdictPass}
			c.change(&r)
			require.NoError(t, wire.Sign("r1", "a", key, &r))
			result := runtest.Failed(c.class, "made")
			result.Receipts = []spec.Receipt{r}
			l.Ended("--batch-1", 1, result)
			require.Equal(t, c.made, l.Proofs.NextMade() != nil)
			require.False(t, l.Proofs.IsProven("base", []string{"g"}, ""))
			if c.made {
				require.Equal(t, 1, l.Works.Foreign("--batch-1"))
				l.Append("", run.Data{Other: &run.Other{Environment: unknown, Baseline: map[string]spec.Receipt{"g": r}}})
				require.Nil(t, l.Proofs.NextMade())
				require.Contains(t, l.Proofs.Among(), unknown)
				require.NotContains(t, l.Proofs.Among(), weak)
			}
		})
	}
}

// At the end of a run the environment of the baseline decides while one of its workers is there.
func TestTheFirstEnvironmentDecidesAtTheEnd(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	l := twoBaselines(t, map[string][]byte{"a": public})
	r := spec.Receipt{Gate: "g", Tree: "base", Environment: first, Verdict: spec.VerdictPass}
	require.NoError(t, wire.Sign("r1", "a", key, &r))
	l.Gates(run.BaselineTask, 1, "b")
	l.By("a", run.BaselineTask, 1, "receipt", r)
	other := spec.Receipt{Gate: "g", Environment: second}
	require.True(t, l.Decides(other), "no worker is there")
	l.Append("", run.Data{Crew: run.Crew{"a": wire.Places{Gates: 1}}})
	require.False(t, l.Decides(other))
	require.True(t, l.Decides(spec.Receipt{Gate: "g", Environment: first}))
	require.True(t, l.ReferenceServed("b"))
	require.False(t, l.ReferenceServed("a"))
	l.Append("", run.Data{Crew: run.Crew{"a": wire.Places{}}})
	require.True(t, l.Decides(other), "it serves no gates")
}
