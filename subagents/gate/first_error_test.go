package gate

import (
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestFirstError(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"":                               "",
		"checking\nlint says no\n":       "lint says no",
		"> b\nsrc/a.js:3: bad\nexit 1\n": "src/a.js:3: bad",
		"\x1b[31merror: no disk\x1b[0m\nmake: *** [all] Error 1\n": "error: no disk",
		"E: Unable to locate package x\nReading\nBye\n":            "E: Unable to locate package x",
		"error: subprocess-exited-with-error\n\n  × pip subprocess to install build dependencies did not run successfully.\n" +
			"  │ exit code: 1\n  ╰─> [2 lines of output]\n      ERROR: No matching distribution found for flit_core\n" +
			"      [end of output]\n\nnote: this is no problem of pip\n": "ERROR: No matching distribution found for flit_core",
		"npm error code E404\nnpm error 404 Not Found\n":         "npm error code E404",
		"    a_test.go:4: got 3\n--- FAIL: TestA (0.0s)\nFAIL\n": "a_test.go:4: got 3",
	} {
		require.Equal(t, want, FirstError(output), output)
	}
	require.LessOrEqual(t, len(FirstError(strings.Repeat("é", 5000))), maxFirstError)
}

func TestLastError(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"":                 "",
		"done\nall good\n": "",
		"Attempt 1 failed with status 429\nAttempt 2 \x1b[31mfailed\x1b[0m with status 429\nRetrying\n": "Attempt 2 failed with status 429",
		"a.go:1: bad\nerror: could not compile\n":                                                       "a.go:1: bad",
	} {
		require.Equal(t, want, LastError(output), output)
	}
	require.LessOrEqual(t, len(LastError("error: "+strings.Repeat("é", 5000))), maxFirstError)
}

func TestReason(t *testing.T) {
	t.Parallel()
	known, fresh := red("test: a"), red("test: a", "test: b")
	fresh.Tail = "--- FAIL: a"
	require.Equal(t, "test: b", Reason(fresh, &known), "what was red before is no reason")
	require.Equal(t, "--- FAIL: a", Reason(fresh, nil))
	require.Equal(t, "exit code 1", Reason(red(), nil))
	require.Equal(t, "killed after 2s", Reason(spec.Receipt{TimedOut: true, Duration: 2 * time.Second}, nil))
}

func FuzzFirstError(f *testing.F) {
	f.Add("error: x\n\x1b[")
	f.Fuzz(func(t *testing.T, output string) {
		line := FirstError(output)
		require.LessOrEqual(t, len(line), maxFirstError)
		require.NotContains(t, line, "\n")
	})
}
