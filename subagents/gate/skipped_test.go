package gate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/gate/testnames"
)

// Each format reports how many tests were skipped, most of them which and why, and a test that passed before is missing.
func TestSkippedTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format, before, after string
		skipped               int
		skips, missing        string
	}{
		"go": {
			FormatGoTest, `{"Action":"pass","Package":"m/p","Test":"TestA"}
{"Action":"pass","Package":"m/p","Test":"TestB"}`,
			`{"Action":"pass","Package":"m/p","Test":"TestA"}
{"Action":"run","Package":"m/p","Test":"TestB"}
{"Action":"output","Package":"m/p","Test":"TestB","Output":"    b_test.go:3: needs a network\n"}
{"Action":"output","Package":"m/p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"m/p","Test":"TestB"}`, 1, "m/p TestB: needs a network", "m/p TestB",
		},
		"go -v": {
			FormatText, "--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\nok  \tm/p\t0.1s\n",
			"--- PASS: TestA (0.00s)\n    b_test.go:3: needs a network\n--- SKIP: TestB (0.00s)\nok  \tm/p\t0.1s\n", 1, "TestB: needs a network", "TestB",
		},
		"junit": {
			FormatJUnit, `<testsuite><testcase classname="a" name="x"/><testcase classname="a" name="y"/></testsuite>`,
			`<testsuite><testcase classname="a" name="x"/><testcase classname="a" name="y"><skipped message="no disk"/></testcase></testsuite>`,
			1, "a y: no disk", "a y",
		},
		"tap": {FormatTAP, "1..2\nok 1 - x\nok 2 - y\n", "1..2\nok 1 - x\nok 2 - y # SKIP no disk\n", 1, "y: no disk", "y"},
		"jest": {
			FormatJSON, `{"testResults":[{"name":"a.js","assertionResults":[{"title":"x","status":"passed"},{"title":"y","status":"passed"}]}]}`,
			`{"testResults":[{"name":"a.js","assertionResults":[{"title":"x","status":"passed"},{"title":"y","status":"pending"}]}]}`, 1, "a.js y", "a.js y",
		},
		"mocha": {
			FormatJSON, `{"stats":{"passes":2},"passes":[{"fullTitle":"x","file":"a.js"},{"fullTitle":"y","file":"a.js"}]}`,
			`{"stats":{"passes":1},"passes":[{"fullTitle":"x","file":"a.js"}],"pending":[{"fullTitle":"y","file":"a.js"}]}`, 1, "a.js y", "a.js y",
		},
		"cargo": {
			FormatText, "running 2 tests\ntest x ... ok\ntest y ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
			"running 2 tests\ntest x ... ok\ntest y ... ignored, no disk\n\ntest result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n",
			1, "y: no disk", "y",
		},
		"pytest -v": {
			FormatText, "a.py::test_x PASSED [ 50%]\na.py::test_y PASSED [100%]\n=== 2 passed in 0.01s ===\n",
			"a.py::test_x PASSED [ 50%]\na.py::test_y SKIPPED (no disk) [100%]\n=== 1 passed, 1 skipped in 0.01s ===\n", 1, "a.py test_y: no disk", "a.py test_y",
		},
		"pytest": {
			FormatText, "a.py .. [100%]\n2 passed in 0.01s\n", "a.py .s [100%]\nSKIPPED [1] a.py:7: no disk\n1 passed, 1 skipped in 0.01s\n",
			1, "a.py: no disk", "test without a name, 2",
		},
		"unittest": {FormatText, "..\nRan 2 tests in 0.001s\n\nOK\n", ".s\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n", 1, "", "test without a name, 2"},
		"jest as text": {
			FormatText, "Tests:       2 passed, 2 total\n", "Tests:       1 skipped, 1 passed, 2 total\n", 1, "", "test without a name, 2",
		},
		"vitest as text":        {FormatText, "      Tests  2 passed (2)\n", "      Tests  1 passed | 1 skipped (2)\n", 1, "", "test without a name, 2"},
		"mocha as text":         {FormatText, "  2 passing (3ms)\n", "  1 passing (3ms)\n  1 pending\n", 1, "", "test without a name, 2"},
		"node":                  {FormatText, "ℹ pass 2\nℹ fail 0\nℹ skipped 0\n", "ℹ pass 1\nℹ fail 0\nℹ skipped 1\n", 1, "", "test without a name, 2"},
		"another test comes":    {FormatText, "2 passed in 0.01s\n", "2 passed, 1 skipped in 0.01s\n", 1, "", ""},
		"a test without a name": {FormatText, "2 passed in 0.01s\n", "1 passed in 0.01s\n", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(output string, baseline *spec.Receipt) (*findings, spec.Receipt, testnames.Tests) {
				found := parse(c.format, []byte(output), tool{})
				r := spec.Receipt{Passed: found.passed, Skipped: found.skipped}
				return found, r, found.ranTo(&r, baseline)
			}
			_, before, base := read(c.before, nil)
			require.Zero(t, before.Skipped)
			require.NotZero(t, before.Passed)
			found, after, now := read(c.after, &before)
			require.Equal(t, c.skipped, after.Skipped)
			require.Equal(t, c.skips, strings.Join(found.skips, "\n"))
			var missing []string
			for _, one := range now.Missing(base.List(), false) {
				missing = append(missing, one.String())
			}
			require.Equal(t, c.missing, strings.Join(missing, ", "))
		})
	}
}
