package gate

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatMovedIsNotNew(t *testing.T) {
	t.Parallel()
	line := func(file, n string) string { return file + "(" + n + ",1): error TS7006: Parameter 'x'." }
	before := findingsIn("tsc", line("a.ts", "1"), line("a.ts", "2"), line("a.ts", "3"), line("b.ts", "1"), line("src/1/c.ts", "1"))
	for name, c := range map[string]struct {
		now     []string
		changed []string
		fresh   []string
	}{
		"renamed": {
			[]string{line("z.ts", "1"), line("z.ts", "2"), line("z.ts", "3"), line("b.ts", "1"), line("src/1/c.ts", "1")},
			[]string{"a.ts", "z.ts"},
			nil,
		},
		"split": {
			[]string{line("a.ts", "1"), line("z.ts", "2"), line("z.ts", "3"), line("b.ts", "1"), line("src/1/c.ts", "1")},
			[]string{"a.ts", "z.ts"},
			nil,
		},
		"a line that went to another file": {
			[]string{line("a.ts", "1"), line("a.ts", "2"), line("b.ts", "1"), line("b.ts", "7"), line("src/1/c.ts", "1")},
			[]string{"a.ts", "b.ts"},
			nil,
		},
		"a directory with a number": {
			[]string{line("a.ts", "1"), line("a.ts", "2"), line("a.ts", "3"), line("b.ts", "1"), line("src/2/d.ts", "1")},
			[]string{"src/1/c.ts", "src/2/d.ts"},
			nil,
		},
		"one more than before": {
			[]string{line("a.ts", "1"), line("z.ts", "2"), line("z.ts", "3"), line("z.ts", "4"), line("b.ts", "1")},
			[]string{"a.ts", "z.ts"},
			[]string{"z.ts: error TS7006: Parameter 'x'."},
		},
		"in a file that the patch did not change": {
			[]string{line("a.ts", "1"), line("a.ts", "2"), line("b.ts", "1"), line("caller.ts", "1")},
			[]string{"a.ts"},
			[]string{"caller.ts: error TS7006: Parameter 'x'."},
		},
	} {
		now := findingsIn("tsc", c.now...)
		where := &Where{Baseline: &before, Changed: func(context.Context) ([]string, error) { return c.changed, nil }}
		require.NoError(t, moved(t.Context(), &now, newNormaliser("/tmp/fx"), where), name)
		require.Equal(t, c.fresh, NewSignatures(now, &before), name)
	}
	now := findingsIn("tsc", line("z.ts", "1"))
	full := errors.New("the disk is full")
	where := &Where{Baseline: &before, Changed: func(context.Context) ([]string, error) { return nil, full }}
	require.ErrorIs(t, moved(t.Context(), &now, newNormaliser("/tmp/fx"), where), full)
}

func TestKindOfFinding(t *testing.T) {
	t.Parallel()
	for signature, want := range map[string][2]string{
		"a/b.go: undefined: x":                    {"a/b.go", "undefined: x"},
		"build: a.go: undefined: x":               {"a.go", "undefined: x"},
		"x.ts - error TS2339: No.":                {"x.ts", "error TS2339: No."},
		"N:N error 'x' is bad no-bad in src/x.js": {"src/x.js", "N:N error 'x' is bad no-bad"},
		"error: run.txt: has N CRs":               {"run.txt", "has N CRs"},
		"test: a TestX":                           {"", "test: a TestX"},
	} {
		file, kind := kindOfFinding(signature)
		require.Equal(t, want, [2]string{file, kind}, signature)
	}
}
