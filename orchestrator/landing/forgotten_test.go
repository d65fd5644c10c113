package landing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
)

// A task that is parked because a caller was forgotten names it, and what to do.
func TestAForgottenCallerIsNamed(t *testing.T) {
	t.Parallel()
	hint := func(at, said string) string {
		return ". It fails in " + at + ", which no task is to change: " + said +
			". If it must change, a retry of run r1 can add a task for it, tested with the submitted patch"
	}
	at := func(build bool, files ...string) spec.Receipt {
		r := spec.Receipt{Build: build, Positions: map[string][]string{}}
		for _, f := range files {
			r.Signatures = append(r.Signatures, "build: "+f+": undefined: x")
			r.Positions["build: "+f+": undefined: x"] = []string{f}
		}
		return r
	}
	told := func(signature string, f spec.Finding, positions ...string) spec.Receipt {
		f.Signature = signature
		return spec.Receipt{
			Signatures: []string{signature}, Positions: map[string][]string{signature: positions}, Errors: []spec.Finding{f},
		}
	}
	called := spec.Finding{File: "cli/main.py", Line: 7, Message: "AttributeError: module 'a' has no attribute 'old'", Source: "a.old()"}
	const missing, calls = "AttributeError: module 'a' has no attribute 'old'", `, in "a.old()"`
	compiled := told("build: cli/main.go: undefined: a.Old",
		spec.Finding{File: "cli/main.go", Line: 3, Column: 9, Message: "undefined: a.Old", Source: "x := a.Old()"}, "cli/main.go")
	compiled.Build = true
	imported := spec.Receipt{
		Signatures: []string{"ImportError: x"}, Positions: map[string][]string{"ImportError: x": {"cli/main.go", "of-a/x.go"}},
	}
	const load = "load: cli/main_test.go: x"
	loaded := spec.Receipt{Signatures: []string{load}, Positions: map[string][]string{load: {"cli/main_test.go"}}}
	const build = "build: cli/main.go: undefined: x"
	for name, c := range map[string]struct {
		receipt  spec.Receipt
		attempts int
		hint     string
	}{
		"a caller does not compile":         {at(true, "cli/main.go"), 1, hint("cli/main.go", build)},
		"with what the compiler printed":    {compiled, 1, hint("cli/main.go:3", `undefined: a.Old, in "x := a.Old()"`)},
		"it fails in its own file as well":  {at(true, "cli/main.go", "of-a/x.go"), 1, hint("cli/main.go", build)},
		"in its own file alone":             {at(true, "of-a/x.go"), 1, ""},
		"in a file that another may change": {at(true, "docs/of-b.go"), 1, ""},
		"a test that reaches a caller":      {told("test: t", called, "cli/main.py", "of-a/x.go"), 1, hint("cli/main.py:7", missing+calls)},
		"a test with a frame of a file":     {told("test: t", spec.Finding{File: "cli/main.py", Line: 7, Message: "1 != 2"}, "cli/main.py"), 1, ""},
		"frames that tell nothing":          {spec.Receipt{Signatures: []string{"test: t"}, Positions: map[string][]string{"test: t": {"cli/main.go"}}}, 1, ""},
		"a test that leads to its file":     {told("test: t", spec.Finding{File: "of-a/x.go", Line: 1, Message: missing}, "cli/main.py", "of-a/x.go"), 1, ""},
		"an import through its file":        {imported, 1, hint("cli/main.go", "ImportError: x")},
		"a test does not compile":           {at(true, "cli/main_test.go"), 1, hint("cli/main_test.go", "build: cli/main_test.go: undefined: x")},
		"a test cannot import":              {loaded, 1, hint("cli/main_test.go", load)},
		"a test alone":                      {at(false, "cli/main_test.go"), 1, ""},
		"without a position":                {spec.Receipt{Signatures: []string{"test: t"}}, 1, ""},
		"a protected file": {at(true, ".ci/x.go"), 1, ". It fails in .ci/x.go, which no task is to change: build: .ci/x.go: undefined: x. " +
			"If it must change, add a task to the plan that names it in its files: it is protected"},
		"a file of git":       {at(true, ".git/config"), 1, ""},
		"a path out of there": {at(true, "../x.go"), 1, ""},
		"it tries again":      {at(true, "cli/main.go"), 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b")
			l.Tasks.ByID["a"].Task.Attempts, l.Tasks.ByID["b"].Task.Files = c.attempts, []string{"docs/*"}
			l.Spec.Project.Protected = []string{".ci/**"}
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
