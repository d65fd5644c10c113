package gate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(format string, output []byte, of tool) *findings {
	lines := newLines(newParser(format, newNormaliser("/tmp/fx"), of))
	lines.write(output)
	return lines.close()
}

// captured are outputs of real tools on small failing projects; pytest's alone is written by hand after its format.
var captured = []struct {
	file, format string
	tool         string
	want         []string
	build        bool
	tests        int
	shown        string
	hidden       string
}{
	{file: "go-ok.jsonl", format: FormatGoTest, tests: 1},
	{
		file: "go-sub.jsonl", format: FormatGoTest, tests: 5,
		want:  []string{"test: fx/sub TestPlain", "test: fx/sub TestTable/two_words"},
		shown: "got 3, want 4", hidden: "TestGreen",
	},
	{
		file: "go-bad.jsonl", format: FormatGoTest, build: true, shown: "undefined: undefinedName",
		want: []string{
			"build: bad/a.go: cannot use N (untyped int constant) as string value in return statement",
			"build: bad/a.go: undefined: undefinedName", "build: package fx/bad",
		},
	},
	{
		file:   "go-panicp.jsonl",
		format: FormatGoTest,
		tests:  2,
		want:   []string{"test: fx/panicp TestPanics"},
		shown:  "assignment to entry in nil map",
	},
	{
		file:   "go-timeoutp.jsonl",
		format: FormatGoTest,
		tests:  1,
		want:   []string{"test: fx/timeoutp TestStuck"},
		shown:  "test timed out after",
	},
	{file: "go-initfail.jsonl", format: FormatGoTest, want: []string{"package: fx/initfail"}, shown: "cannot reach database"},
	{
		file: "go-vetbad.jsonl", format: FormatGoTest, build: true, shown: "wrong type",
		want: []string{
			"build: package fx/vetbad", `build: vetbad/a_test.go: fmt.Printf format %d has arg "x" of wrong type string`,
		},
	},
	{
		file: "go-setupbad.jsonl", format: FormatGoTest, build: true, shown: "is not in std",
		want: []string{
			"build: package fx/setupbad",
			"build: setupbad/a.go: package fx/nowhere is not in std (/usr/local/go/src/fx/nowhere)",
		},
	},
	{
		file: "go-all.jsonl", format: FormatGoTest, build: true, tests: 9, shown: "undefinedName", hidden: "TestGreen",
		want: []string{
			"build: bad/a.go: cannot use N (untyped int constant) as string value in return statement",
			"build: bad/a.go: undefined: undefinedName", "build: package fx/bad", "build: package fx/setupbad",
			"build: package fx/vetbad", "build: setupbad/a.go: package fx/nowhere is not in std (/usr/local/go/src/fx/nowhere)",
			`build: vetbad/a_test.go: fmt.Printf format %d has arg "x" of wrong type string`, "package: fx/initfail",
			"test: fx/panicp TestPanics", "test: fx/sub TestPlain", "test: fx/sub TestTable/two_words",
			"test: fx/timeoutp TestStuck",
		},
	},
	{
		file: "go-plain.txt", shown: "a_test.go:5: boom",
		want: []string{
			"FAIL fx/panicp T", "FAIL fx/sub T", "panic: assignment to entry in nil map [recovered, repanicked]",
			"test: TestPanics", "test: TestPlain", "test: TestTable", "test: TestTable/two_words",
		},
	},
	{
		file: "go-build.txt", format: FormatFindings, tool: "go", build: true, shown: "bad/a.go:2:23",
		want: []string{
			"bad/a.go: cannot use N (untyped int constant) as string value in return statement",
			"bad/a.go: undefined: undefinedName",
		},
	},
	{
		file:   "cargo.txt",
		tests:  3,
		want:   []string{"test: rx tests::panics", "test: rx tests::red"},
		shown:  "left == right",
		hidden: "test tests::green",
	},
	{
		file:  "cargo-build.txt",
		build: true,
		want:  []string{"error[E0308]: mismatched types in src/lib.rs"},
		shown: "expected `i32`",
	},
	{file: "make.txt", want: []string{"src/a.c: error: expected ; before }"}},
	{
		file:   "node-junit.xml",
		format: FormatJUnit,
		tests:  4,
		want:   []string{"test: suite inner red", "test: test red one"},
		shown:  "3 !== 4",
	},
	{
		file:   "node.tap",
		format: FormatTAP,
		tests:  5,
		want:   []string{"test: red one", "test: suite > inner red"},
		shown:  "x is not a function",
	},
	{file: "npm.txt", tests: 5, want: []string{"test: red one", "test: suite > inner red"}, shown: "x is not a function"},
	{file: "node-spec.txt", tests: 4, want: []string{"test: inner red", "test: red one", "test: suite"}, shown: "AssertionError"},
	{
		file: "pytest.txt", build: true, tests: 3, shown: "assert 3 == 4",
		want: []string{
			"load: tests/test_b.py: ModuleNotFoundError: No module named 'nowhere'", "suite: tests/test_b.py",
			"test: tests/test_a.py::test_red[1-x]",
		},
	},
}

func TestCapturedOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range captured {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			output, err := os.ReadFile(filepath.Join("testdata", c.file))
			require.NoError(t, err)
			found := parse(c.format, output, tool{name: c.tool})
			require.Equal(t, c.want, found.sorted())
			require.Equal(t, c.build, found.build)
			require.Equal(t, c.tests, found.tests)
			require.Contains(t, found.kept.String(), c.shown)
			if c.hidden != "" {
				require.NotContains(t, found.kept.String(), c.hidden)
			}
			require.LessOrEqual(t, found.kept.Len(), maxTail)
		})
	}
}

// Programs colour their lines where CI is set, as nothing in a command's environment forbids it.
func TestColoursDoNotMatter(t *testing.T) {
	t.Parallel()
	for _, c := range captured {
		output, err := os.ReadFile(filepath.Join("testdata", c.file))
		require.NoError(t, err)
		var coloured strings.Builder
		for line := range strings.Lines(string(output)) {
			body := strings.TrimSuffix(line, "\n")
			first := len(body) - len(strings.TrimLeft(body, "\t "))
			coloured.WriteString(body[:first] + "\x1b[1;31m" + body[first:] + "\x1b[39m\n")
		}
		plain := parse(c.format, output, tool{name: c.tool})
		found := parse(c.format, []byte(coloured.String()), tool{name: c.tool})
		require.Equal(t, plain.sorted(), found.sorted(), c.file)
		require.Equal(t, plain.tests, found.tests, c.file)
		require.Equal(t, plain.kept.String(), found.kept.String(), c.file)
	}
}

// XML knows no escape characters, but some programs write them into reports.
func TestColoursInAReportHideNothing(t *testing.T) {
	t.Parallel()
	p := &junitParser{text: newTextParser(newNormaliser("")), names: newNormaliser("")}
	require.NoError(t, p.readFile(strings.NewReader("<testsuite><testcase name=\"adds\"><failure>\x1b[31mone is two\x1b[39m</failure>"+
		"</testcase><testcase name=\"takes\"/></testsuite>")))
	found := p.end()
	require.Equal(t, []string{"test: adds"}, found.sorted())
	require.Equal(t, 2, found.tests)
	require.Contains(t, found.kept.String(), "one is two")

	p = &junitParser{text: newTextParser(newNormaliser("")), names: newNormaliser("")}
	require.NoError(t, p.readFile(strings.NewReader("<testsuite><testcase name=\"a\"><system-out>\x1b]</system-out></testcase>"+
		"<testcase name=\"b\"><failure/></testcase><testcase name=\"c\"><system-out>\x07</system-out></testcase></testsuite>")))
	require.Contains(t, p.end().hidden, spec.HiddenAll, "a title of a terminal, over the end of a failure")
}

// Where the stream is cut into chunks does not matter.
func TestChunksDoNotMatter(t *testing.T) {
	t.Parallel()
	output, err := os.ReadFile(filepath.Join("testdata", "go-all.jsonl"))
	require.NoError(t, err)
	lines := newLines(newParser(FormatGoTest, newNormaliser(""), tool{}))
	for chunk := range slices.Chunk(output, 7) {
		lines.write(chunk)
	}
	require.Equal(t, parse(FormatGoTest, output, tool{}).sorted(), lines.close().sorted())
}

func TestSmallOutputs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format, output string
		want           []string
		build          bool
	}{
		"nothing":     {output: "all is well\n"},
		"noise alone": {output: "make: *** [Makefile:2: test] Error 1\nnpm ERR! code 1\nexit status 1\nFAIL\n"},
		"typescript": {
			output: "src/a.ts(12,5): error TS2322: Type 'X1' is not assignable.\n",
			want:   []string{"src/a.ts: error TS2322: Type 'X1' is not assignable."},
			build:  true,
		},
		"colours": {output: "\x1b[31merror\x1b[0m: broken at 0xdeadbeef\n", want: []string{"error: broken at X"}},
		"python": {
			output: "Traceback:\n  File \"a.py\", line 3\nValueError: bad value 17\n",
			want:   []string{"ValueError: bad value N"},
		},
		"go.mod": {
			format: FormatGoTest,
			output: "go: errors parsing go.mod:\ngo.mod:1: usage: module module/path\n",
			want:   []string{"go.mod: usage: module module/path"},
			build:  true,
		},
		"event cut":    {format: FormatGoTest, output: `{"Action":"fail","Package":"p","Test":"T`},
		"bare package": {format: FormatGoTest, output: `{"Action":"fail","Package":"p"}`, want: []string{"package: p"}},
		"junit broken off": {
			format: FormatJUnit,
			output: "log\n<testsuite>" +
				"<testcase classname=\"a.B\" name=\"c\"><failure>x</failure></testcase><testcase name=\"d\"><fail",
			want: []string{"test: a.B c"},
		},
		"junit absent": {format: FormatJUnit, output: "error: no report\n", want: []string{"error: no report"}},
		"junit in one line": {
			format: FormatJUnit,
			output: "x <testsuites><testsuite>" +
				"<testcase name=\"c\"><error message=\"m\"/></testcase></testsuite></testsuites> error: y",
			want: []string{"test: c"},
		},
		"tap bail out": {
			format: FormatTAP,
			output: "1..3\nok 1 - a\nBail out! no database on port 5432\n",
			want:   []string{"bail out: no database on port N", "plan: fewer tests ran than were planned"},
		},
		"tap without names": {format: FormatTAP, output: "not ok 1\nnot ok 2 # TODO later\nnot ok\n", want: []string{"test: "}},
		"jest":              {output: "  ✕ adds numbers (5 ms)\n", want: []string{"test: adds numbers"}},
		"eslint": {
			output: "/tmp/fx/src/a.js\n  3:10  error  'x' is never used  no-unused-vars\n",
			want:   []string{"N:N error 'x' is never used no-unused-vars in src/a.js"},
		},
		"directories with spaces and other letters": {
			output: "b/zoë.go:3:1: undefined: x\nmy dir/a.ts(3,4): error TS1: no\n\"my dir/p.go\":3:4: bad\nsrc/zoë1.go:3: bad\n",
			want:   []string{"\"my dir/p.go\":N:N: bad", "b/zoë.go: undefined: x", "my dir/a.ts: error TS1: no", "src/zoë1.go: bad"},
			build:  true,
		},
		"vet": {output: "# ex/ok\nvet: ok/zoë.go:3:9: undefined: x\n", want: []string{"ok/zoë.go: undefined: x"}},
		"pytest in a directory with a space": {
			output: "FAILED my tests/test_é.py::test_a - assert 1 == 2\nERROR my tests/test_b.py - SyntaxError: no\n",
			want:   []string{"suite: my tests/test_b.py", "test: my tests/test_é.py::test_a"}, build: true,
		},
		"cargo in a directory with a space": {
			output: "test my dir/lib.rs - é (line 3) ... FAILED\n", want: []string{"test: my dir/lib.rs - é (line 3)"},
		},
		"jest in a directory with a space": {output: "FAIL my dir/é.test.js\n", want: []string{"FAIL my dir/é.test.js"}},
		"go test passes over a package that it cannot import": {
			output: "# ex/zoë\nmalformed import path \"ex/zoë\": invalid char 'ë'\nFAIL\tex/zoë [setup failed]\nFAIL\n",
			want:   []string{"FAIL ex/zoë [setup failed]", "malformed import path \"ex/zoë\": invalid char 'ë'"},
		},
		"go build builds nothing with a package that it cannot import": {
			output: "malformed import path \"ex/zoë\": invalid char 'ë'\n",
			want:   []string{"malformed import path \"ex/zoë\": invalid char 'ë'"}, build: true,
		},
		"go test -json passes over a package that it cannot import": {
			format: FormatGoTest, output: unimportable("ex/zoë", "") + unimportable("ex/a b", ""),
			want: []string{
				"build: malformed import path \"ex/a b\": invalid char 'ë'", "build: malformed import path \"ex/zoë\": invalid char 'ë'",
				"build: package ex/a b", "build: package ex/zoë",
			},
		},
		"a package that imports one that cannot be": {
			format: FormatGoTest, output: unimportable("ex/zoë", "ok/p.go:3:8: "), build: true,
			want: []string{"build: ok/p.go: malformed import path \"ex/zoë\": invalid char 'ë'", "build: package ex/zoë"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := parse(c.format, []byte(c.output), tool{})
			require.Equal(t, c.want, found.sorted())
			require.Equal(t, c.build, found.build)
		})
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	for i := range maxSignatures + 500 {
		output.WriteString("--- FAIL: Test" + strings.Repeat("x", 400) + string(rune('a'+i%26)) + "\n")
		output.WriteString("--- FAIL: Test" + strings.Repeat("y", i%7) + string(rune(0x4e00+i)) + "\n")
	}
	found := parse(FormatText, output.Bytes(), tool{})
	require.Len(t, found.signatures, maxSignatures+1)
	require.Contains(t, found.sorted(), overflowSignature)
	require.LessOrEqual(t, found.kept.Len(), maxTail)
	require.Contains(t, found.kept.String(), "more failures follow")
	for _, s := range found.sorted() {
		require.LessOrEqual(t, len(s), maxSignature)
	}
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	found := parse(FormatText, []byte("error: "+strings.Repeat("z", 3*maxLine)+"\nerror: next\n"), tool{})
	require.Len(t, found.sorted(), 2)
	require.Contains(t, found.sorted(), "error: next")
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for want, command := range map[string][]string{
		FormatGoTest: {"go", "test", "-json", "./..."},
		FormatJUnit:  {"pytest", "--junitxml=out/report.xml"},
		FormatTAP:    {"node", "--test", "--test-reporter=tap"},
		"":           {"make", "test"},
	} {
		require.Equal(t, want, formatOf(spec.Gate{Command: command}))
	}
	require.Equal(t, FormatText, formatOf(spec.Gate{Command: []string{"go", "test", "-json"}, Format: FormatText}))
	require.Equal(t, FormatJUnit, formatOf(spec.Gate{Command: []string{"./mvnw", "-B", "verify"}}))
	require.Equal(t, "r.xml", reportFile([]string{"gotestsum", "--junitfile", "r.xml"}))
	require.Equal(t, "a/b/r.xml", reportFile([]string{"env", "--chdir=a/b", "pytest", "--junitxml=r.xml"}))
	require.Empty(t, reportFile([]string{"pytest", "--junitxml=/dev/stdout"}))
}

func fuzzFormat(f *testing.F, format string, files ...string) {
	f.Helper()
	fuzzTool(f, format, tool{}, files...)
}

func fuzzTool(f *testing.F, format string, of tool, files ...string) {
	f.Helper()
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		found := parse(format, output, of)
		require.LessOrEqual(t, len(found.signatures), maxSignatures+1)
		require.LessOrEqual(t, found.kept.Len(), maxTail)
		require.True(t, utf8.ValidString(found.kept.String()))
		require.GreaterOrEqual(t, found.passed, 0)
		require.GreaterOrEqual(t, found.tests, found.passed)
		require.LessOrEqual(t, len(found.hidden), maxHidden+1)
		for s, cause := range found.follows {
			require.NotEqual(t, s, cause)
			require.Contains(t, found.signatures, cause)
		}
		for s := range found.signatures {
			require.NotEmpty(t, strings.TrimSpace(s))
			require.LessOrEqual(t, len(s), maxSignature)
			require.True(t, utf8.ValidString(s))
			require.NotContains(t, s, "\n")
		}
		require.Equal(t, found.sorted(), parse(format, output, of).sorted())
	})
}

func FuzzGoTest(f *testing.F) { fuzzFormat(f, FormatGoTest, "go-all.jsonl", "go-panicp.jsonl") }
func FuzzJUnit(f *testing.F)  { fuzzFormat(f, FormatJUnit, "node-junit.xml") }
func FuzzTAP(f *testing.F)    { fuzzFormat(f, FormatTAP, "node.tap") }
func FuzzText(f *testing.F) {
	fuzzFormat(f, FormatText, "cargo.txt", "go-plain.txt", "node-spec.txt", "pytest.txt")
}
func FuzzSniffed(f *testing.F) { fuzzFormat(f, "", "npm.txt", "make.txt") }

// unimportable is what "go test -json" prints of a package that it cannot import.
func unimportable(name, place string) string {
	line := func(v map[string]string) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(text) + "\n"
	}
	return line(map[string]string{"ImportPath": name, "Action": "build-output", "Output": "# " + name + "\n"}) +
		line(map[string]string{
			"ImportPath": name, "Action": "build-output", "Output": place + "malformed import path \"" + name + "\": invalid char 'ë'\n",
		}) +
		line(map[string]string{"ImportPath": name, "Action": "build-fail"}) +
		line(map[string]string{"Action": "fail", "Package": name, "FailedBuild": name})
}

func FuzzJSON(f *testing.F) {
	fuzzFormat(f, FormatJSON, "recorded/jest3-module.json", "recorded/mocha4-throws.json")
}

func FuzzMaven(f *testing.F) {
	fuzzTool(f, FormatJUnit, tool{"mvn", spec.KindTests}, "recorded/mvn1-tests.txtar", "recorded/mvn3-compile.txtar", "recorded/mvn9-exit.txtar")
}

func FuzzFindings(f *testing.F) {
	fuzzFormat(f, FormatFindings, "recorded/go1-vet.txt", "recorded/tsc4-syntax.txt", "recorded/tsc5-export.txt")
}

func FuzzSuites(f *testing.F) {
	fuzzFormat(f, FormatText, "recorded/jest3-module.txt", "recorded/mocha4-throws.txt", "recorded/vitest1-tests.txt", "recorded/pytest3-continue.txt",
		"recorded/unittest3-module.txt")
}
