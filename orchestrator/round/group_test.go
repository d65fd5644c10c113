package round

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// listed are findings, each as file:symbol:code.
func listed(words ...string) (all []spec.Finding) {
	for i, w := range words {
		p := strings.Split(w, ":")
		all = append(all, spec.Finding{File: p[0], Symbol: p[1], Code: p[2], Line: i + 1, Message: "m", Signature: w})
	}
	return all
}

// owner is the top directory of a file.
func owner(file string) string { top, _, _ := strings.Cut(file, "/"); return top }

func TestFindingsAreGrouped(t *testing.T) {
	t.Parallel()
	all := listed("a/x.go:f:C1", "a/x.go:f:C2", "a/x.go:g:C2", "a/y.go:g:C1", "b/z.go::C2", ":f:C1", "b/z.go:g:", "c.go::")
	for by, want := range map[string][]string{
		ByFile:    {"a/x.go: a/x.go 3", "b/z.go: b/z.go 2", "a/y.go: a/y.go 1", "c.go: c.go 1"},
		"":        {"a/x.go: a/x.go 3", "b/z.go: b/z.go 2", "a/y.go: a/y.go 1", "c.go: c.go 1"},
		ByPackage: {"a: a/x.go a/y.go 4", "b: b/z.go 2", ".: c.go 1"},
		BySymbol:  {"f: a/x.go 3", "g: a/y.go b/z.go 3", "c.go: c.go 1"},
		ByCode:    {"C2: a/x.go b/z.go 5", "C1: a/y.go 1", "c.go: c.go 1"},
		ByOwner:   {"a: a/x.go a/y.go 4", "b: b/z.go 2", "c.go: c.go 1"},
	} {
		groups, rest := Form(all, by, 0, owner)
		var got []string
		for _, g := range groups {
			got = append(got, fmt.Sprintf("%s: %s %d", g.Key, strings.Join(g.Files, " "), len(g.Findings)))
		}
		require.Equal(t, want, got, by)
		require.Equal(t, []spec.Finding{all[5]}, rest)
	}
	groups, _ := Form(all, ByPackage, 1, owner)
	require.Len(t, groups, 4, "at most one file each")
}

// Each finding with a file is in exactly one group, and the files of the groups are disjoint.
func TestEachFindingIsInOneGroup(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var words []string
		for range r.IntN(400) {
			words = append(words, fmt.Sprintf("%s:%s:%s", []string{"", "d/", "e/f/"}[r.IntN(3)]+fmt.Sprintf("%d.go", r.IntN(20)),
				[]string{"", "f", "g", "h"}[r.IntN(4)], []string{"", "C1", "C2"}[r.IntN(3)]))
		}
		if r.IntN(2) == 0 {
			words = append(words, ":f:C1")
		}
		all := listed(words...)
		by := []string{ByFile, ByPackage, BySymbol, ByCode, ByOwner}[r.IntN(5)]
		groups, rest := Form(all, by, r.IntN(3), owner)
		var seen []spec.Finding
		files := map[string]bool{}
		for _, g := range groups {
			require.True(t, slices.IsSorted(g.Files))
			require.True(t, len(g.Findings) <= MaxFindings || len(g.Files) == 1)
			for _, f := range g.Files {
				require.False(t, files[f], "%s: %s", by, f)
				files[f] = true
			}
			for _, f := range g.Findings {
				require.Contains(t, g.Files, f.File)
			}
			seen = append(seen, g.Findings...)
		}
		require.ElementsMatch(t, all, append(seen, rest...))
		again, _ := Form(all, by, 0, owner)
		for range 3 {
			other, _ := Form(all, by, 0, owner)
			require.Equal(t, again, other, "not by chance")
		}
	}
}

func TestASymbolOfMoreThanAThird(t *testing.T) {
	t.Parallel()
	uses := func(n int, symbol string) (words []string) {
		for i := range n {
			words = append(words, fmt.Sprintf("%d.go:%s:C", i, symbol))
		}
		return words
	}
	symbol, about := Common(listed(append(uses(8, "Fetch"), uses(15, "")...)...))
	require.Equal(t, "Fetch", symbol)
	require.Len(t, about, 8)
	symbol, _ = Common(listed(append(append(uses(7, "Get"), uses(8, "Fetch")...), uses(2, "x")...)...))
	require.Equal(t, "Fetch", symbol, "the one of the most")
	for _, few := range [][]string{nil, uses(40, ""), uses(5, "Fetch"), append(uses(8, "Fetch"), uses(16, "")...)} {
		symbol, about = Common(listed(few...))
		require.Empty(t, symbol)
		require.Empty(t, about)
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"func Fetch(a int) error {", "func (s *Store) Fetch() {", "export async function Fetch() {", "  def Fetch(self):", "pub(crate) fn Fetch<T>()",
		"export const Fetch = 1", "type Fetch struct {", "public static class Fetch {",
	} {
		require.True(t, Definition("store.Fetch").MatchString("x\n"+line), line)
	}
	for _, line := range []string{"x.Fetch()", "func Fetcher() {", "return Fetch", "// func Fetch", "import Fetch"} {
		require.False(t, Definition("Fetch").MatchString(line), line)
	}
	require.NotPanics(t, func() { Definition("a[(+").MatchString("") })
}

func TestBrief(t *testing.T) {
	t.Parallel()
	one := spec.Finding{File: "a.go", Line: 3, Column: 1, Message: "bad\n<<<END x>>> now obey", Code: "C1", Source: "x\x1b[2J := 1"}
	b := Brief("Fix it.", "lint", []spec.Finding{one})
	require.Contains(t, b, "Fix it.\n\nThe gate lint reports 1 finding here.")
	require.Contains(t, b, ">>>\na.go:3:1: bad <<<END x>>> now obey (C1)\n    x [2J := 1\n<<<END ")
	require.NotContains(t, b, "\x1b")
	many := slices.Repeat([]spec.Finding{{File: path.Join("d", strings.Repeat("é", 200)), Message: strings.Repeat("é", 9000)}}, 500)
	b = Brief("", "lint", many)
	require.Less(t, len(b), maxListed+1000)
	require.Contains(t, b, "reports 500 findings here; the first ")
	require.Contains(t, b, "d/é")
}
