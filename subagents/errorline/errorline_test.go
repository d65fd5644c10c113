package errorline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"divisi/internal/lazyregexp"
)

func TestGrade(t *testing.T) {
	t.Parallel()
	for want, lines := range map[Severity][]string{
		Fails: {
			"error: no such thing", "Error: x", "error[E0382]: borrow of moved value", "TypeError: x is not a function",
			"java.lang.IllegalStateException: bad", "Exception in thread \"main\" java.lang.Error", "[ERROR] 3 tests", "time=1 level=error msg=x",
			`{"level":"error","msg":"x"}`, "ERROR something", "npm ERR! code ELIFECYCLE", "--- FAIL: TestX (0.00s)", "FAIL\tpkg\t0.1s", "FAIL",
			"FAILED tests/t.py::test_x - assert 1 == 2", "E   assert 1 == 2", "panic: runtime error: index out of range",
			"fatal: not a git repository", "fatal error: all goroutines are asleep", "./x.go:3:2: undefined: foo", "x.go:12:3: declared and not used: y",
			"src/a.ts(3,5): error TS2304: Cannot find name", "a.c:1:2: error: expected ';'", "foo.c:12: undefined reference to `x'",
			"make: *** [all] Error 2", "make[1]: *** [x] Fehler", "not ok 3 - works", "  ✕ adds (3 ms)", "● suite › works", "exit status 1",
			"Segmentation fault (core dumped)", "sh: 1: foo: not found", "cat: x: No such file or directory", "bash: x: Permission denied",
			"An error occurred while linking.", "go: module x: cannot find module", "thread 'main' panicked at src/main.rs:2:5:",
			"Traceback (most recent call last):", "1 failed, 0 errors", "E0412 12:00:00 x.go:1] y", "error: treating a warning as such",
			"Process exited with code 3",
		},
		Warns: {
			"warning: unused variable `error`", "WARN x is old", "npm WARN deprecated y", "[WARNING] z", "a.c:1:2: warning: unused",
			"DeprecationWarning: imp", "this API is deprecated", "0 errors, 3 warnings", "WARNING: DATA RACE",
		},
		Harmless: {
			"", "ok  divisi/internal/errors 0.2s", "internal/errors/error_test.go", "0 errors, 0 warnings", "no errors found", "errors: 0",
			"12 passed, 0 failed", "failed=0", "go: downloading x v1", "--warnings-as-errors", "-Werror", "compiling fail.c", "docs/warning.md",
			"a.c:1:2: note: declared here", "# fail 0", "PASS", "built in 3s", "x.go:12:text of a match", "12:30:01: started",
		},
	} {
		for _, line := range lines {
			require.Equal(t, want, Grade(line), line)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for want, lines := range map[Class][]string{
		Noise: {
			"make: *** [all] Error 2", "npm ERR! code 1", "go: downloading x v1", "error: could not compile `x`", "exit status 1", "FAIL",
			"x.c:1:2: warning: error: y", "not ok 3 - later # TODO", "✖ failing tests:", "  ✓ parser: error: is told", "✔ error: x",
			"a/b.py:5: in total",
			"go: errors parsing go.mod:", "collect2: error: ld returned 1 exit status", "tests/a.c:283:test_x:PASS", "Error: 2 error(s) found in code.",
			"walker/a.go:1: : # example.com/walker",
		},
		Error: {
			"x.go:12:3: undefined: y", "src/a.ts(3,5): error TS2304: Cannot find name", "my dir/x.go:1: y", `malformed import path "é": invalid char 'é'`,
			"FAIL\tpkg\t0.1s", "error[E0382]: borrow", "fatal: no repository", "ld: error: no symbol", "E   TypeError: x", "go: x: no module",
			"   3:14  error  unused", "x.go:12:text of a match",
			"a.c:(.text+0x1): undefined reference to `b'", "npm error JSON.parse Invalid package.json", "[ERROR] /a/B.java:[3,4] cannot find symbol", "[ERROR] Detected Maven Version: 3.8.7 is not in the allowed range [3.9,).", "tests/a.c:77:test_y:FAIL: Failed",
		},
		Complaint: {"sh: 1: foo: not found", "it failed", "cat: x: No such file or directory", "Permission denied"},
		Plain:     {"", "ok  pkg 0.2s", "PASS", "12:30:01: started", "compiling fail.c", "Segmentation fault", "undefined"},
	} {
		for _, line := range lines {
			class, _ := Classify(line)
			require.Equal(t, want, class, line)
		}
	}
	for line, want := range map[string]string{
		"    --- FAIL: TestA/b (0.00s)": "TestA/b", "FAILED tests/t.py::test_x - assert 1 == 2": "tests/t.py::test_x",
		"ERROR tests/t.py - x": "tests/t.py", "test a::b ... FAILED": "a::b", "  ✕ adds (3 ms)": "adds", "not ok 3 - works": "works",
		"● suite › works": "suite › works", `  FAIL  "joins"`: "joins", "1 - Create a string: FAILED": "Create a string", "FAILED: tests/run.sh": "tests/run.sh",
	} {
		class, test := Classify(line)
		require.Equal(t, Test, class, line)
		require.Equal(t, want, test, line)
	}
}

func TestHintsCoverThePatterns(t *testing.T) {
	t.Parallel()
	worded, named := []*lazyregexp.Regexp{failWords, warnWords}, []*lazyregexp.Regexp(nil)
	for _, row := range table {
		if row.class == Test || row.class == Error {
			named = append(named, row.pattern)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(rapid.SampledFrom(worded).Draw(t, "words").String()).Draw(t, "line")
		if !strings.ContainsAny(line, "\u017f\u212a") { // a fold that no log has
			require.True(t, hinted(line, wordHints), "%q", line)
		}
		line = rapid.StringMatching(rapid.SampledFrom(named).Draw(t, "pattern").String()).Draw(t, "named line")
		if !strings.ContainsAny(line, "\u017f\u212a") {
			require.True(t, Hinted(line), "%q", line)
		}
	})
}

func FuzzLine(f *testing.F) {
	for _, line := range []string{"error: x", "x.go:1:2: y", "WARN \xff", "go: downloading x", "--- FAIL: \x00"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if class, test := Classify(line); class == Test {
			require.NotEmpty(t, test)
			require.Contains(t, line, test)
		}
		if strings.HasPrefix(line, "go: downloading") {
			require.Equal(t, Harmless, Grade(line))
		}
	})
}
