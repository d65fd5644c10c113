package gate

import (
	"fmt"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// findingsIn is the receipt of a checker that printed these lines.
func findingsIn(of string, lines ...string) spec.Receipt {
	found := parse(FormatFindings, []byte(strings.Join(lines, "\n")), tool{of, spec.KindFindings})
	return spec.Receipt{
		Version: spec.ReceiptVersion, ExitCode: 1, Kind: spec.KindFindings, Signatures: found.sorted(),
		Counts: found.counted.several(),
	}
}

func TestOneMoreOfAKindIsNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of, signature string
		line          func(n int) string
	}{
		"tsc": {"tsc", "x.ts: error TS2339: No.", func(n int) string { return fmt.Sprintf("x.ts(%d,5): error TS2339: No.", n) }},
		"go":  {"golangci-lint", "a/x.go: unused (revive)", func(n int) string { return fmt.Sprintf("a/x.go:%d:1: unused (revive)", n) }},
		"eslint": {"eslint", "N:N error 'x' is bad no-bad in x.js", func(n int) string {
			return fmt.Sprintf("/tmp/fx/x.js\n  %d:1  error  'x' is bad  no-bad\n", n)
		}},
		"cargo": {"cargo", "error[E0308]: mismatched types in src/lib.rs", func(n int) string {
			return fmt.Sprintf("error[E0308]: mismatched types\n  --> src/lib.rs:%d:5\n", n)
		}},
	} {
		two := findingsIn(c.of, c.line(3), c.line(8), c.line(3))
		require.Equal(t, []string{c.signature}, two.Signatures, name)
		require.Equal(t, map[string]int{c.signature: 2}, two.Counts, "%s: printed twice, it is one", name)
		three := findingsIn(c.of, c.line(4), c.line(9), c.line(11))
		require.Equal(t, []string{c.signature}, NewSignatures(three, &two), name)
		require.Equal(t, spec.VerdictFail, Judge(three, &two), name)
		require.Empty(t, NewSignatures(two, &three), name)
		require.Equal(t, spec.VerdictBaseline, Judge(two, &three), name)
		require.Equal(t, []string{c.signature}, NewSignatures(three, &two), "%s: fewer is a gain, which is shown", name)

		old := two
		old.Version, old.Counts = 0, nil
		require.Empty(t, NewSignatures(three, &old), "%s: what an older program has signed was not counted", name)
	}
}

func TestAFailedTestCountsOnce(t *testing.T) {
	t.Parallel()
	found := parse(FormatText, []byte("--- FAIL: TestX (0.00s)\n    a_test.go:3: no\n--- FAIL: TestX (0.00s)\n    a_test.go:4: no\n"), tool{})
	require.Empty(t, found.counted.several())
}

func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	c := newCounted()
	for n := range maxPlaces {
		require.True(t, c.add("a.go: x", fmt.Sprintf("a.go:%d: x", n+1)))
	}
	require.True(t, c.add("a.go: x", "a.go:1: x"))
	require.False(t, c.add("a.go: x", fmt.Sprintf("a.go:%d: x", maxPlaces+1)))
}

func TestAToolJudgesAllAndChangesNothing(t *testing.T) {
	t.Parallel()
	for given, runs := range map[string]string{
		"golangci-lint run ./...":               "golangci-lint run --fix=false --max-issues-per-linter=0 --max-same-issues=0 ./...",
		"golangci-lint run --max-same-issues=9": "golangci-lint run --fix=false --max-same-issues=9",
		"golangci-lint run --fix":               "golangci-lint run --max-issues-per-linter=0 --max-same-issues=0 --fix",
		"npx biome lint src":                    "npx biome lint src --max-diagnostics=none",
		"uv run ruff check src":                 "uv run ruff check --no-fix src",
		"ruff check --fix":                      "ruff check --fix",
		"golangci-lint fmt":                     "golangci-lint fmt",
		"npm run lint":                          "npm run lint",
	} {
		require.Equal(t, strings.Fields(runs), judging(strings.Fields(given)))
	}
}

func TestABoundOfAToolHidesTheRest(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"only showing the first 100 errors, of 150 total; use -Xmaxerrs if you would like to see more",
		"fatal error: too many errors emitted, stopping now [-ferror-limit=]",
	} {
		found := parse(FormatFindings, []byte("A.java:1: error: no\n"+line+"\n"), tool{"javac", spec.KindFindings})
		require.Contains(t, found.hidden, spec.HiddenAll, line)
	}
}
