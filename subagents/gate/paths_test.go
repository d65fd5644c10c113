package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// plant writes files, each empty unless it has a text, below a directory that it returns.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

// pathsOf returns the receipt of an output of a gate that ran in the directory, which the output calls /tmp/fx/.
func pathsOf(t *testing.T, dir, format string, output []byte, baseline *spec.Receipt) spec.Receipt {
	t.Helper()
	names := newNormaliser("/tmp/fx")
	lines := newLines(newParser(format, names, tool{}))
	lines.write(output)
	found := lines.close()
	r := spec.Receipt{ExitCode: 1, Signatures: found.sorted()}
	require.NoError(t, lead(&r, found, names, &Where{Dir: dir, Baseline: baseline}))
	return r
}

func files(names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		out[name] = ""
	}
	return out
}

// The outputs of real tools lead to the files of the projects that they were taken from.
func TestPathsOfCapturedOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, format string
		tree         map[string]string
		want         map[string][]string
	}{
		{
			"go-all.jsonl", FormatGoTest,
			files(
				"bad/a.go", "setupbad/a.go", "vetbad/a_test.go", "initfail/a_test.go", "panicp/a_test.go", "sub/a_test.go",
				"timeoutp/a_test.go", "a_test.go",
			),
			map[string][]string{
				"build: bad/a.go: cannot use N (untyped int constant) as string value in return statement": {"bad", "bad/a.go"},
				"build: bad/a.go: undefined: undefinedName":                                                {"bad", "bad/a.go"},
				"build: package fx/bad": {"bad"}, "build: package fx/setupbad": {"setupbad"}, "build: package fx/vetbad": {"vetbad"},
				"build: setupbad/a.go: package fx/nowhere is not in std (/usr/local/go/src/fx/nowhere)": {"setupbad/a.go"},
				`build: vetbad/a_test.go: fmt.Printf format %d has arg "x" of wrong type string`:        {"vetbad", "vetbad/a_test.go"},
				"package: fx/initfail":             {"initfail"},
				"test: fx/panicp TestPanics":       {"panicp", "panicp/a_test.go"},
				"test: fx/sub TestPlain":           {"sub", "sub/a_test.go"},
				"test: fx/sub TestTable/two_words": {"sub", "sub/a_test.go"},
				"test: fx/timeoutp TestStuck":      {"timeoutp", "timeoutp/a_test.go"},
			},
		},
		{
			"go-plain.txt", FormatText, files("sub/a_test.go", "panicp/a_test.go", "a_test.go"),
			map[string][]string{
				"FAIL fx/panicp T": {"panicp"}, "FAIL fx/sub T": {"sub"},
				"panic: assignment to entry in nil map [recovered, repanicked]": {"panicp", "panicp/a_test.go"},
				"test: TestPanics": {"panicp"}, "test: TestPlain": {"sub", "sub/a_test.go"},
				"test: TestTable": {"sub"}, "test: TestTable/two_words": {"sub", "sub/a_test.go"},
			},
		},
		{
			"go-build.txt", FormatText, files("bad/a.go"),
			map[string][]string{
				"bad/a.go: cannot use N (untyped int constant) as string value in return statement": {"bad", "bad/a.go"},
				"bad/a.go: undefined: undefinedName":                                                {"bad", "bad/a.go"},
			},
		},
		{
			"cargo.txt", FormatText, files("src/lib.rs"),
			map[string][]string{"test: rx tests::panics": {"src/lib.rs"}, "test: rx tests::red": {"src/lib.rs"}},
		},
		{
			"cargo-build.txt", FormatText, files("src/lib.rs"),
			map[string][]string{"error[E0308]: mismatched types in src/lib.rs": {"src/lib.rs"}},
		},
		{
			"make.txt", "", files("src/a.c", "Makefile"),
			map[string][]string{"src/a.c: error: expected ; before }": {"src/a.c"}},
		},
		{
			"pytest.txt", FormatText, files("tests/test_a.py", "tests/test_b.py"),
			map[string][]string{
				"test: tests/test_a.py::test_red[1-x]": {"tests/test_a.py"}, "suite: tests/test_b.py": {"tests/test_b.py"},
				"load: tests/test_b.py: ModuleNotFoundError: No module named 'nowhere'": {"tests/test_b.py"},
			},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			output, err := os.ReadFile(filepath.Join("testdata", c.file))
			require.NoError(t, err)
			require.Equal(t, c.want, pathsOf(t, plant(t, c.tree), c.format, output, nil).Paths)
		})
	}
	// These were taken in another directory.
	for file, format := range map[string]string{
		"node.tap": FormatTAP, "npm.txt": "", "node-junit.xml": FormatJUnit, "node-spec.txt": FormatText,
	} {
		output, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		output = []byte(strings.ReplaceAll(string(output), "/tmp/nx/", "/tmp/fx/"))
		r := pathsOf(t, plant(t, files("a.test.js")), format, output, nil)
		for _, signature := range r.Signatures {
			if signature != "test: suite" {
				require.Equal(t, []string{"a.test.js"}, r.Paths[signature], "%s: %s", file, signature)
			}
		}
	}
}

func TestPathsOfLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format, output string
		tree           map[string]string
		want           map[string][]string
	}{
		"typescript": {
			output: "src/a.ts(12,5): error TS2322: Type 'X1' is not assignable.\n", tree: files("src/a.ts"),
			want: map[string][]string{"src/a.ts: error TS2322: Type 'X1' is not assignable.": {"src/a.ts"}},
		},
		"a name with brackets": {
			output: "app/[id]/p2.ts:3:1: error: no\n", tree: files("app/[id]/p2.ts"),
			want: map[string][]string{"app/[id]/p2.ts: error: no": {"app/[id]/p2.ts"}},
		},
		"names with spaces and other letters": {
			output: "b/zoë.go:3:1: undefined: x\nmy dir/a.ts(3,4): error TS1: no\n\"my dir/p.go\":3:4: bad\n",
			tree:   files("b/zoë.go", "my dir/a.ts", "my dir/p.go"),
			want: map[string][]string{
				"b/zoë.go: undefined: x": {"b/zoë.go"}, "my dir/a.ts: error TS1: no": {"my dir/a.ts"},
				`"my dir/p.go":N:N: bad`: {"my dir/p.go"},
			},
		},
		"no path": {output: "error: docs failed in 3.2 s\n", tree: files("docs/a.md")},
		"the same failure in two lines": {
			output: "error: see a/x.c:1\nerror: see a/x.c:2\n", tree: files("a/x.c"), want: map[string][]string{"error: see a/x.c": {"a/x.c"}},
		},
		"eslint": {
			output: "/tmp/fx/src/a2.js\n  3:10  error  'x' is never used  no-unused-vars\n", tree: files("src/a2.js"),
			want: map[string][]string{"N:N error 'x' is never used no-unused-vars in src/a2.js": {"src/a2.js"}},
		},
		"a traceback": {
			output: "Traceback (most recent call last):\n  File \"/tmp/fx/lib/a.py\", line 3, in f\n    g()\n" +
				"  File \"/usr/lib/python3/b.py\", line 4, in g\nValueError: bad value 17\nTypeError: another\n",
			tree: files("lib/a.py"), want: map[string][]string{"ValueError: bad value N": {"lib/a.py"}},
		},
		"jest": {
			output: "FAIL my dir/é.test.js\n  ● sums › adds\n\n\nPASS b.test.js\n", tree: files("my dir/é.test.js", "b.test.js"),
			want: map[string][]string{"FAIL my dir/é.test.js": {"my dir/é.test.js"}, "test: my dir/é.test.js: sums › adds": {"my dir/é.test.js"}},
		},
		"vitest": {
			output: " ❯ src/a.test.ts (2 tests | 1 failed) 5ms\n   × adds 3ms\n", tree: files("src/a.test.ts"),
			want: map[string][]string{"test: adds": {"src/a.test.ts"}},
		},
		"pytest": {
			output: "FAILED my tests/test_é.py::test_a - assert 1 == 2\nERROR my tests/test_b.py - SyntaxError: no\n",
			tree:   files("my tests/test_é.py", "my tests/test_b.py"),
			want: map[string][]string{
				"suite: my tests/test_b.py": {"my tests/test_b.py"}, "test: my tests/test_é.py::test_a": {"my tests/test_é.py"},
			},
		},
		"go vet": {
			output: "# ex/ok\n# [ex/ok]\nvet: ok/a.go:3:9: undefined: x\n", tree: files("ok/a.go"),
			want: map[string][]string{"ok/a.go: undefined: x": {"ok", "ok/a.go"}},
		},
		"go tests of two packages": {
			output: "--- FAIL: TestA (0.00s)\n    testdata/in.txt: bad\nFAIL\nFAIL\tex/a\t0.1s\nok  \tex/b\t0.1s\n--- FAIL: TestC (0.00s)\n" +
				"FAIL\nFAIL\tex/c\t0.1s\n",
			tree: files("a/testdata/in.txt", "b/b.go", "c/c.go"),
			want: map[string][]string{
				"FAIL ex/a T": {"a"}, "FAIL ex/c T": {"c"}, "test: TestA": {"a", "a/testdata/in.txt"}, "test: TestC": {"c"},
			},
		},
		"junit of pytest": {
			format: FormatJUnit, tree: files("tests/test_a.py", "src/a.py"),
			output: `<testsuite><testcase classname="tests.test_a.TestIt" name="one"><failure message="no">/tmp/fx/src/a.py:7: Error</failure>` +
				`</testcase></testsuite>`,
			want: map[string][]string{"test: tests.test_a.TestIt one": {"src/a.py", "tests/test_a.py"}},
		},
		"junit of Java": {
			format: FormatJUnit, tree: files("src/test/java/com/acme/FooTest.java"),
			output: `<testsuite><testcase classname="com.acme.FooTest$Inner" name="one"><error>x</error></testcase></testsuite>`,
			want:   map[string][]string{"test: com.acme.FooTest$Inner one": {"src/test/java/com/acme/FooTest.java"}},
		},
		"junit with files": {
			format: FormatJUnit, tree: files("a/one.test.js", "b/two.test.js"),
			output: `<testsuites><testsuite file="/tmp/fx/a/one.test.js"><testcase name="x"><failure/></testcase></testsuite>` +
				`<testsuite><testcase name="y" file="b/two.test.js"><failure/></testcase></testsuite></testsuites>`,
			want: map[string][]string{"test: x": {"a/one.test.js"}, "test: y": {"b/two.test.js"}},
		},
		"junit of Go": {
			format: FormatJUnit, tree: map[string]string{"go.mod": "module example.com/m // it\n", "in/x/x.go": "package x\n", "m.go": ""},
			output: `<testsuite><testcase classname="example.com/m/in/x" name="TestX"><failure/></testcase>` +
				`<testcase classname="example.com/m" name="TestM"><failure/></testcase></testsuite>`,
			want: map[string][]string{"test: example.com/m/in/x TestX": {"in/x"}, "test: example.com/m TestM": {"."}},
		},
		"tap": {
			format: FormatTAP, tree: files("t/one.js"),
			output: "1..1\nnot ok 1 - it\n  ---\n  location: 'file:///tmp/fx/t/one.js:3:1'\n  ...\n",
			want:   map[string][]string{"test: it": {"t/one.js"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := pathsOf(t, plant(t, c.tree), c.format, []byte(c.output), nil)
			require.Equal(t, c.want, nonEmpty(r.Paths))
		})
	}
}

func nonEmpty(m map[string][]string) map[string][]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// What was red on the base commit leads nowhere.
func TestOnlyNewFailuresHavePaths(t *testing.T) {
	t.Parallel()
	dir := plant(t, files("a/x.c", "b/x.c"))
	base := pathsOf(t, dir, FormatText, []byte("error: a/x.c:1: old\n"), nil)
	require.Len(t, base.Paths, 1)
	r := pathsOf(t, dir, FormatText, []byte("error: a/x.c:9: old\nerror: b/x.c:1: new\n"), &base)
	require.Equal(t, map[string][]string{"error: b/x.c: new": {"b/x.c"}}, r.Paths)
}

// A receipt with the most failures of the greatest length keeps within what one message can hold.
func TestPathsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	dir := plant(t, map[string]string{long + "/a.go": "package a", long + "/b.go": "package b"})
	var output strings.Builder
	for i := range maxSignatures + 10 {
		output.WriteString("error: " + string(rune(0x4e00+i)) + " " + long + "/a.go " + long + "/b.go" + "\n")
	}
	r := pathsOf(t, dir, FormatText, []byte(output.String()), nil)
	require.Len(t, r.Signatures, maxSignatures+1)
	require.NotEmpty(t, r.Paths)
	require.NotContains(t, r.Paths, overflowSignature)
	data, err := json.Marshal([]any{r.Paths, r.Imports})
	require.NoError(t, err)
	require.Less(t, len(data), 300<<10)
}
