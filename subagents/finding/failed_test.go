package finding

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestFailed(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]spec.Finding{
		"": {},
		"    a_test.go:7: got 4, want 3\n--- FAIL: TestA (0.00s)\n": {File: "a_test.go", Line: 7, Message: "got 4, want 3"},
		"panic: runtime error: index out of range\n\ngoroutine 7 [running]:\np.F()\n\tlib.go:7 +0x1d\n\ta.go:9: x\n": {
			File: "a.go", Line: 9, Message: "panic: runtime error: index out of range",
		},
		">       assert f() == 4\nE       assert 3 == 4\n\na.py:5: AssertionError\n": {File: "a.py", Line: 5, Message: "assert 3 == 4"},
		"Traceback (most recent call last):\n  File \"a.py\", line 2, in test\n    f()\n  File \"b.py\", line 9, in f\nValueError: no\n": {
			File: "b.py", Line: 9, Message: "ValueError: no",
		},
		"    expect(received).toBe(expected)\n\n    Expected: 12\n    Received: 13\n\n      at Object.toBe (a.js:3:50)\n": {
			File: "a.js", Line: 3, Column: 50, Message: "expect(received).toBe(expected) (Expected: 12, Received: 13)",
		},
		"  error: |-\n    Expected values to be equal:\n\n    39 !== 36\n  code: x\n": {Message: "Expected values to be equal: 39 !== 36"},
		"AssertionError [ERR]: Expected values:\n\n39 !== 36\n\n  at Context.<anonymous> (other.js:1:2)\n": {
			Message: "AssertionError [ERR]: Expected values: 39 !== 36",
		},
		"thread 't' panicked at a.rs:3:82:\nassertion `left == right` failed\n  left: 3\n right: 2\n": {
			Message: "assertion `left == right` failed (left: 3, right: 2)", File: "a.rs", Line: 3, Column: 82,
		},
		"    a_test.go:7: \n        --- Got:\n  x\n": {Message: "--- Got:", File: "a_test.go", Line: 7},
		"     Uncaught ReferenceError: x is not defined\n      at f (a.js:1:2)\n": {
			Message: "ReferenceError: x is not defined", File: "a.js", Line: 1, Column: 2,
		},
	} {
		require.Equal(t, want, Failed(lines, func(file string) bool { return file != "other.js" }), lines)
	}
}

func FuzzFailed(f *testing.F) {
	f.Add("E   x\na.py:1: E\n  error: |-\n   y:\n")
	f.Fuzz(func(t *testing.T, lines string) {
		got := Failed(lines, func(string) bool { return true })
		require.LessOrEqual(t, len(got.Message), maxMessage)
		require.NotContains(t, got.Message, "\n")
	})
}
