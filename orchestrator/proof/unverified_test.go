package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

// gated is a run with gates.
func gated(t *testing.T, s run.Spec, gates ...string) *runtest.Log {
	t.Helper()
	s.Roles, s.Plan = runtest.Roles(), &spec.Plan{}
	for _, name := range gates {
		s.Project.Gates = append(s.Project.Gates, spec.Gate{Name: name})
	}
	return runtest.New(t, s, run.Running)
}

// A run with many gates names a few of them.
func TestManyGatesAreCounted(t *testing.T) {
	t.Parallel()
	l := gated(t, run.Spec{})
	var baseline []spec.Receipt
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		l.Spec.Project.Gates = append(l.Spec.Project.Gates, spec.Gate{Name: name})
		baseline = append(baseline, spec.Receipt{Gate: name, ExitCode: 1, Verdict: spec.VerdictFail})
	}
	l.Append("", run.Data{Baseline: baseline})
	require.Equal(t, "no comparison with the base commit for: a, b, c, d and 2 more", Unverified(&l.Agenda, &l.Proofs))
}

// Where go cannot load a package, go build builds nothing, and the tests of the others are the proof; but not where gates were written
// down, and not where no test ran.
func TestADetectedBuildIsCoveredByTheTests(t *testing.T) {
	t.Parallel()
	build := spec.Receipt{
		Gate: "go-build-web", ExitCode: 1, Kind: spec.KindFindings, Build: true, Signatures: []string{"ui.go: pattern dist: no files found"},
		Hidden: []string{spec.HiddenAll},
	}
	test := spec.Receipt{
		Gate: "go-test-web", ExitCode: 1, Kind: spec.KindTests, Tests: 3, Passed: 3,
		Signatures: []string{"build: web/a.go: undefined: x"}, Hidden: []string{"package: web"},
	}
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
			l := gated(t, run.Spec{Detected: c.detected}, "go-build-web", "go-test-web")
			with := l.WithBaseline([]spec.Receipt{build, c.test})
			require.Equal(t, c.want, Unverified(&with.Agenda, &with.Proofs))
		})
	}
}
