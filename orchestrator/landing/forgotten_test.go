package landing_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
)

// A task that is parked because a caller was forgotten names it, and what to do.
func TestAForgottenCallerIsNamed(t *testing.T) {
	t.Parallel()
	const hint = ". It fails in cli/main.go, which is in the files of no task. If it must change, add its path to files of this task " +
		"in the plan; then retry it in run r1"
	at := func(build bool, files ...string) spec.Receipt {
		r := spec.Receipt{Build: build, Positions: map[string][]string{}}
		for _, f := range files {
			r.Signatures = append(r.Signatures, "build: "+f+": undefined: x")
			r.Positions["build: "+f+": undefined: x"] = []string{f}
		}
		return r
	}
	thrown := spec.Receipt{Signatures: []string{"test: t"}, Positions: map[string][]string{"test: t": {"cli/main.go", "cli/main_test.go"}}}
	own := spec.Receipt{Signatures: []string{"test: t"}, Positions: map[string][]string{"test: t": {"cli/main.go", "of-a/x.go"}}}
	imported := spec.Receipt{
		Signatures: []string{"ImportError: x"}, Positions: map[string][]string{"ImportError: x": {"cli/main.go", "of-a/x.go"}},
	}
	loaded := spec.Receipt{
		Signatures: []string{"load: cli/main_test.go: x"}, Positions: map[string][]string{"load: cli/main_test.go: x": {"cli/main_test.go"}},
	}
	inTest := strings.ReplaceAll(hint, "main.go", "main_test.go")
	for name, c := range map[string]struct {
		receipt  spec.Receipt
		attempts int
		hint     string
	}{
		"a caller does not compile":         {at(true, "cli/main.go"), 1, hint},
		"it fails in its own file as well":  {at(true, "cli/main.go", "of-a/x.go"), 1, hint},
		"in its own file alone":             {at(true, "of-a/x.go"), 1, ""},
		"in a file that another may change": {at(true, "docs/of-b.go"), 1, ""},
		"a test that leads to a caller":     {thrown, 1, hint},
		"a test that leads to its file":     {own, 1, ""},
		"an import through its file":        {imported, 1, hint},
		"a test does not compile":           {at(true, "cli/main_test.go"), 1, inTest},
		"a test cannot import":              {loaded, 1, inTest},
		"a test alone":                      {at(false, "cli/main_test.go"), 1, ""},
		"without a position":                {spec.Receipt{Signatures: []string{"test: t"}}, 1, ""},
		"it tries again":                    {at(true, "cli/main.go"), 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b")
			l.Tasks.ByID["a"].Task.Attempts, l.Tasks.ByID["b"].Task.Files = c.attempts, []string{"docs/*"}
			for try := range 2 {
				batch(l, 1, try+1, "b", "l", "a")
				l.Ended("--batch-1", try+1, broken(c.receipt))
			}
			want := "task a parked failed 1 of 1 attempts: test is red" + c.hint
			if c.attempts > 1 {
				want = "task a pending test is red"
			}
			require.Equal(t, []string{"landing split a", want}, runtest.Describe(landing.Settle(l.State)))
		})
	}
}
