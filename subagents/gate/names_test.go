package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/subagents/gate/testnames"

	"github.com/stretchr/testify/require"
)

// passedIn are the tests that a parser finds to have passed, as lines.
func passedIn(format, output string, of tool) string {
	var lines []string
	found := parse(format, []byte(output), of)
	for _, t := range found.ran.List() {
		lines = append(lines, t.Group+": "+t.Name)
	}
	return strings.Join(lines, "\n")
}

func TestNamesOfTestsThatPassed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ format, output, want string }{
		"go": {FormatGoTest, `{"Action":"run","Package":"m/p","Test":"TestA"}
{"Action":"pass","Package":"m/p","Test":"TestA/of_17_at_0xc000123"}
{"Action":"pass","Package":"m/p","Test":"TestA"}
{"Action":"skip","Package":"m/p","Test":"TestB"}
{"Action":"fail","Package":"m/p","Test":"TestC"}
{"Action":"pass","Package":"m/p"}`, "m/p: TestA\nm/p: TestA/of_17_at_0xc000123"},
		"numbers, addresses and places": {
			FormatGoTest, `{"Action":"pass","Package":"m/p","Test":"TestA/#01"}
{"Action":"pass","Package":"m/p","Test":"TestA/17 at 0xc000123"}
{"Action":"pass","Package":"m/p","Test":"TestA/a1b2c3d4e5"}
{"Action":"pass","Package":"m/p","Test":"TestA//tmp/fx/x.go"}
{"Action":"pass","Package":"m/p","Test":"TestA//tmp/TestA123/x"}
{"Action":"pass","Package":"m/p","Test":"TestVersion2"}`,
			"m/p: TestA/#N\nm/p: TestA/N at X\nm/p: TestA/TMP\nm/p: TestA/X\nm/p: TestA/x.go\nm/p: TestVersion2",
		},
		"go without names": {FormatText, "ok  \tm/p\t0.01s\nok  \tm/q\t(cached)\nok  \tm/r\t0.01s [no tests to run]\n?   \tm/s\t[no test files]\n", "m/p: ok\nm/q: ok"},
		"go -v":            {FormatText, "=== RUN   TestA\n    --- PASS: TestA/x (0.00s)\n--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\n", ": TestA\n: TestA/x"},
		"junit": {FormatJUnit, `<testsuites><testsuite name="s"><testcase classname="shop.CartTest" name="adds"/>` +
			`<testcase classname="shop.CartTest" name="later"><skipped/></testcase>` +
			`<testcase classname="shop.CartTest" name="wrong"><failure message="no"/></testcase></testsuite></testsuites>`, "shop.CartTest: adds"},
		"junit of node": {FormatJUnit, `<testsuites><testsuite name="cart"><testcase classname="test" file="/tmp/fx/cart.test.js" name="adds"/>` +
			`</testsuite></testsuites>`, "cart.test.js: cart > adds"},
		"tap": {FormatTAP, "TAP version 13\n# Subtest: cart\n    ok 1 - adds # time=3ms\n    ok 2 - later # SKIP\n    not ok 3 - some day # TODO\n" +
			"ok 1 - cart\nok 2 - rounds\n1..2\n", ": cart > adds\n: rounds"},
		"jest": {FormatJSON, `{"testResults":[{"name":"/tmp/fx/a.test.js","assertionResults":[` +
			`{"ancestorTitles":["cart"],"title":"adds","status":"passed"},{"ancestorTitles":[],"title":"later","status":"pending"}]}]}`, "a.test.js: cart > adds"},
		"mocha": {FormatJSON, `{"stats":{"passes":1},"passes":[{"fullTitle":"cart adds","file":"/tmp/fx/cart.js"}],"failures":[]}`, "cart.js: cart adds"},
		"cargo": {
			FormatText, "     Running unittests src/lib.rs (target/debug/deps/shop-0a1b2c3d4e5f6071)\n\nrunning 3 tests\n" +
				"test tests::adds ... ok\ntest tests::later ... ignored\ntest tests::panics - should panic ... ok\ntest src/lib.rs - add (line 5) ... ok\n",
			"shop: src/lib.rs - add (line N)\nshop: tests::adds\nshop: tests::panics",
		},
		"pytest -v":   {FormatText, "tests/test_a.py::TestX::test_adds[1-2] PASSED   [ 50%]\ntests/test_a.py::test_b SKIPPED [100%]\n", "tests/test_a.py: TestX::test_adds[N-N]"},
		"unittest -v": {FormatText, "test_adds (tests.test_a.T.test_adds) ... ok\ntest_b (tests.test_a.T.test_b) ... skipped 'x'\n", "tests.test_a.T.test_adds: test_adds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, passedIn(c.format, c.output, tool{}))
		})
	}
}

// A package whose program ended before its first test has run.
func TestAPackageWithoutATestHasRun(t *testing.T) {
	t.Parallel()
	found := parse(FormatGoTest, []byte(`{"Action":"start","Package":"m/p"}`+"\n"+`{"Action":"pass","Package":"m/p"}`), tool{})
	require.Equal(t, testnames.List{{Group: "m/p", Name: "TestA"}}, found.ran.Missing(testnames.List{{Group: "m/p", Name: "TestA"}, {Group: "m/q", Name: "TestB"}}, true))
}

// In recorded outputs of real tools names of passed tests are found, and as many as the tool counts.
func TestNamesInRecordedOutputs(t *testing.T) {
	t.Parallel()
	for file, format := range map[string]string{
		"go2-test.jsonl": FormatGoTest, "mocha4-throws.json": FormatJSON, "jest4-throws.json": FormatJSON, "vitest1-tests.xml": FormatJUnit,
		"pytest1-tests.xml": FormatJUnit, "node1-tests.tap": FormatTAP, "vitest1-tests.tap": FormatTAP, "mocha1-tests.tap": FormatTAP,
	} {
		output, err := os.ReadFile(filepath.Join("testdata/recorded", file))
		require.NoError(t, err)
		found := parse(format, output, tool{})
		require.NotZero(t, found.passed, file)
		require.Len(t, found.ran.List(), found.passed, file)
	}
}

// What made a runner pass without testing leaves tests out by name, also where it counts as many.
func TestTricksLeaveTestsOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ format, before, after, want string }{
		"tap that says ok 1 and ends": {FormatTAP, "1..2\nok 1 - adds\nok 2 - takes away\n", "1..1\nok 1\n", "adds, takes away"},
		"tap with other names":        {FormatTAP, "1..1\nok 1 - adds\n", "1..1\nok 1 - fine\n", "adds"},
		"an XML with fewer cases": {
			FormatJUnit, `<testsuite><testcase classname="a" name="x"/><testcase classname="a" name="y"/></testsuite>`,
			`<testsuite><testcase classname="a" name="x"/></testsuite>`, "a y",
		},
		"a package in a module of its own": {
			FormatGoTest, `{"Action":"pass","Package":"m/p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"m/q","Test":"TestB"}`,
			`{"Action":"pass","Package":"m/q","Test":"TestB"}`, "m/p TestA",
		},
		"an init function that exits": {
			FormatGoTest, `{"Action":"pass","Package":"m/p","Test":"TestA"}`,
			`{"Action":"start","Package":"m/p"}` + "\n" + `{"Action":"pass","Package":"m/p","Elapsed":0.01}`, "m/p TestA",
		},
		"a package left out, without names": {FormatText, "ok  \tm/p\t0.1s\nok  \tm/q\t0.1s\n", "ok  \tm/q\t0.1s\n", "m/p ok"},
		"[lib] test = false": {
			FormatText, "     Running unittests src/lib.rs (target/debug/deps/shop-0a1b2c3d4e5f6071)\ntest tests::adds ... ok\n" +
				"     Running tests/all.rs (target/debug/deps/all-0a1b2c3d4e5f6071)\ntest all ... ok\n",
			"     Running tests/all.rs (target/debug/deps/all-0a1b2c3d4e5f6071)\ntest all ... ok\n", "shop tests::adds",
		},
		"a module named unittest": {
			FormatText, "test_adds (test_a.T.test_adds) ... ok\n\nRan 1 test in 0.001s\n\nOK\n", "Ran 1 test in 0.001s\n\nOK\n",
			"test_a.T.test_adds test_adds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, now := parse(c.format, []byte(c.before), tool{}), parse(c.format, []byte(c.after), tool{})
			var missing []string
			for _, one := range now.ran.Missing(base.ran.List(), false) {
				missing = append(missing, one.String())
			}
			require.Equal(t, c.want, strings.Join(missing, ", "))
		})
	}
}
