package gate

import (
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// A pipe and || true take the exit code of a runner, which its report belies.
func TestAReportWithFailuresIsRedWithExitCode0(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format, output string
		want           []string
	}{
		"tap":                    {FormatTAP, "1..2\nok 1 - a\nnot ok 2 - b\n", []string{"test: b"}},
		"tap without a version":  {"", "1..2\nok 1 - a\nnot ok 2 - b\n", []string{"test: b"}},
		"tap with a late plan":   {"", "ok 1 - a\nnot ok 2 - b\n1..2\n", []string{"test: b"}},
		"tap that bails out":     {FormatTAP, "1..2\nok 1 - a\nBail out! no disk\n", []string{"bail out: no disk", "plan: fewer tests ran than were planned"}},
		"tap, todo":              {FormatTAP, "1..2\nok 1 - a\nnot ok 2 - b # TODO later\n", nil},
		"go, json":               {FormatGoTest, `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`, []string{"test: p TestA"}},
		"go, json, not built":    {FormatGoTest, `{"ImportPath":"p","Action":"build-output","Output":"p.go:3:9: undefined: x\n"}` + "\n" + `{"ImportPath":"p","Action":"build-fail"}` + "\n" + `{"Action":"fail","Package":"p","FailedBuild":"p"}`, []string{"build: p.go: undefined: x", "build: package p"}},
		"go, run again":          {FormatGoTest, `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}`, nil},
		"go, plain":              {"", "--- FAIL: TestA (0.00s)\n    a_test.go:3: no\nFAIL\nFAIL\tp\t0.01s\nFAIL\n", []string{"test: TestA"}},
		"pytest":                 {"", "FAILED a.py::test_b - no\n=== 1 failed, 3 passed in 0.1s ===\n", []string{"test: a.py::test_b"}},
		"unittest":               {"", "FAIL: test_b (a.A)\n----\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n", []string{"test: test_b (a.A)"}},
		"junit":                  {FormatJUnit, `<testsuite><testcase classname="c" name="t"><failure message="no"/></testcase></testsuite>`, []string{"test: c t"}},
		"what a green test says": {"", "--- FAIL: TestInner (0.00s)\nerror: a.go: is meant\n=== 4 passed in 0.1s ===\n", nil},
		"a linter's words":       {"", "error: a.go:3: only printed\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newWhere(t, map[string]string{"out": c.output})
			g := shell("cat out")
			g.Format = c.format
			r := run(t, g, where)
			require.Equal(t, c.want, r.Signatures)
			if r.Verdict = Judge(r, nil); c.want == nil {
				require.Equal(t, spec.VerdictPass, r.Verdict)
				return
			}
			require.Equal(t, spec.VerdictFail, r.Verdict)
			require.Zero(t, r.ExitCode)
			where.Baseline = &r
			require.NotEqual(t, spec.VerdictPass, run(t, g, where).Verdict, "it is as red as its base commit")
			green := spec.Receipt{Version: spec.ReceiptVersion, Verdict: spec.VerdictPass}
			where.Baseline = &green
			require.Equal(t, spec.VerdictFail, run(t, g, where).Verdict)
		})
	}
}
