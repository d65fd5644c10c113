package finding

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]spec.Finding{
		"./a/b.go:12:3: undefined: x":     {File: "a/b.go", Line: 12, Column: 3, Message: "undefined: x"},
		"vet: a.go:1:2: undefined: y":     {File: "a.go", Line: 1, Column: 2, Message: "undefined: y"},
		"a.go:7: missing return (govet)":  {File: "a.go", Line: 7, Message: "missing return", Code: "govet"},
		"a.go:7:1: x is unused (revive)":  {File: "a.go", Line: 7, Column: 1, Message: "x is unused", Code: "revive"},
		"a.go:7:1: should not (SA4006)":   {File: "a.go", Line: 7, Column: 1, Message: "should not", Code: "SA4006"},
		"src/x.ts(3,9): error TS2339: No": {File: "src/x.ts", Line: 3, Column: 9, Message: "No", Code: "TS2339"},
		"src/x.ts:3:9 - error TS2: No":    {File: "src/x.ts", Line: 3, Column: 9, Message: "No", Code: "TS2"},
		"error TS18003: No inputs":        {Message: "No inputs", Code: "TS18003"},
		"  3:10  error  'x' is not defined  no-undef": {
			Line: 3, Column: 10, Message: "'x' is not defined", Code: "no-undef",
		},
		"  3:10  error  'x' is bad  @typescript-eslint/no-bad": {
			Line: 3, Column: 10, Message: "'x' is bad", Code: "@typescript-eslint/no-bad",
		},
		"a.py:1:1: F401 'os' imported but unused":   {File: "a.py", Line: 1, Column: 1, Message: "'os' imported but unused", Code: "F401"},
		"a.py:4: error: Name x  [name-defined]":     {File: "a.py", Line: 4, Message: "Name x", Code: "name-defined"},
		"a.c:2:5: error: 'x' undeclared [-Wextra]":  {File: "a.c", Line: 2, Column: 5, Message: "'x' undeclared", Code: "-Wextra"},
		"src/A.java:5: error: cannot find symbol":   {File: "src/A.java", Line: 5, Message: "cannot find symbol"},
		"[ERROR] /p/A.java:[12,34] cannot find":     {File: "/p/A.java", Line: 12, Column: 34, Message: "cannot find"},
		"error[E0308]: mismatched types":            {Message: "mismatched types", Code: "E0308"},
		"  --> src/lib.rs:3:5":                      {File: "src/lib.rs", Line: 3, Column: 5},
		`  File "/a/b.py", line 3, in f`:            {File: "/a/b.py", Line: 3, Message: `File "/a/b.py", line 3, in f`},
		"my dir/a.go:1:2: text":                     {File: "my dir/a.go", Line: 1, Column: 2, Message: "text"},
		"error: run.txt:1: has 3 of two, not 0":     {File: "run.txt", Line: 1, Message: "has 3 of two, not 0"},
		"plain words":                               {Message: "plain words"},
		"a.go:99999999999999999999:1: text":         {File: "a.go", Column: 1, Message: "text"},
		"https://x.example/a.html:80: is no place ": {Message: "https://x.example/a.html:80: is no place"},
	} {
		require.Equal(t, want, Read(line), line)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a.go:1:2", Place(Read("a.go:1:2: text")))
	require.Equal(t, ":3:10", Place(Read("  3:10  error  x  y")))
	require.Empty(t, Place(Read("error: 3 of 4 failed")))
}

func FuzzRead(f *testing.F) {
	f.Add("a.go:1:2: text")
	f.Add("  3:10  error  x  y")
	f.Fuzz(func(t *testing.T, line string) {
		got := Read(line)
		require.GreaterOrEqual(t, got.Line, 0)
		require.LessOrEqual(t, len(got.Message), maxMessage)
		require.NotContains(t, got.Message, "\n")
		if !strings.Contains(line, "TS") && got.Code != "" {
			require.Contains(t, line, got.Code)
		}
	})
}
