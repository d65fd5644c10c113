package memory

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIdentifiersAreFoundHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"camel.md": "Call parseHTTPHeader first.", "snake.md": "Call parse_http_header first.",
		"kebab.md": "The flag --parse-http-header is gone.", "other.md": "Nothing of the sort.",
		"path.md": "See internal/git/merge_tree.go.", "utf.md": "All text is utf8.", "tokyo.md": "これは東京タワーです",
	})
	m := p.open()
	for _, query := range []string{"http header", "parse_http_header", "ParseHTTPHeader", "parsing headers", "parsehttpheader"} {
		require.ElementsMatch(t, []string{"camel", "snake", "kebab"}, found(t, m, query), query)
	}
	require.Equal(t, []string{"path"}, found(t, m, "mergeTree"))
	require.Equal(t, []string{"path"}, found(t, m, "internal/git"))
	require.Equal(t, []string{"utf"}, found(t, m, "UTF-8"))
	for _, query := range []string{"東京", "タワー", "京タ", "東"} {
		require.Equal(t, []string{"tokyo"}, found(t, m, query), query)
	}
}

func TestRankingPrefersTitlesThenTagsThenPaths(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"a.md": "---\ntitle: one\ntags: [two]\npaths: [three]\n---\nlease",
		"b.md": "---\ntitle: one\ntags: [two]\npaths: [lease]\n---\nfour",
		"c.md": "---\ntitle: one\ntags: [lease]\npaths: [three]\n---\nfour",
		"d.md": "---\ntitle: lease\ntags: [two]\npaths: [three]\n---\nfour",
		"e.md": "---\ntitle: one\ntags: [two]\npaths: [three]\n---\nfour",
		"f.md": "---\ntitle: lease\ntags: [two]\npaths: [three]\n---\nfour",
		"g.md": "nothing", "h.md": "nothing", "i.md": "nothing", "j.md": "nothing", "k.md": "nothing",
	})
	m := p.open()
	require.Equal(t, []string{"d", "f", "c", "b", "a"}, found(t, m, "lease"), "equals are in the order of their names")
	hits, err := m.Search(t.Context(), "lease", 3)
	require.NoError(t, err)
	require.Len(t, hits, 3)
	require.Equal(t, "lease", hits[0].Title)
	require.Equal(t, ".divisi/memory/d.md", hits[0].Path)
	require.InDelta(t, hits[0].Score, hits[1].Score, 0)
	require.Greater(t, hits[1].Score, hits[2].Score)
	require.Positive(t, hits[2].Score)
	require.InDelta(t, 0.309489672639, hits[0].Score, 1e-9, "BM25 with k1 1.2 and b 0.75, as full-text databases count it")
}

// Nothing in a query is an operator.
func TestQueriesAreData(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "# apple\npie near the title", "b.md": "banana"})
	m := p.open()
	for query, want := range map[string][]string{
		`title:banana`: {"b", "a"}, `"apple`: {"a"}, `app*`: {}, `apple AND banana`: {"a", "b"}, `apple NOT pie`: {"a"},
		`NEAR(apple pie, 1)`: {"a"}, `{title}: apple`: {"a"}, `-title : apple`: {"a"}, `^pie`: {"a"}, `'; DROP TABLE words; --`: {},
		`apple" OR "banana`: {"a", "b"}, "apple\x00banana": {"a", "b"}, "\xff\xfe apple": {"a"},
		"": {}, "  ": {}, "the of and": {}, `*"()`: {}, "\u200b": {}, strings.Repeat("banana ", 5000): {"b"},
	} {
		require.ElementsMatch(t, want, found(t, m, query), query)
	}
	for _, limit := range []int{0, -1} {
		hits, err := m.Search(t.Context(), "apple", limit)
		require.NoError(t, err)
		require.Empty(t, hits)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(`a" OR title:b* NEAR(c d) ^-e {f} "" '`)
	repo := f.TempDir()
	_, err := notesDir{repo}.add("a b c", []byte("d e f"))
	require.NoError(f, err)
	m, _, err := Open(f.Context(), Options{Repo: repo})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, query string) {
		_, err := m.Search(t.Context(), query, 3)
		require.NoError(t, err)
	})
}

// A long query is decided by its rarest words.
func TestALongQueryIsDecidedByItsRarestWords(t *testing.T) {
	t.Parallel()
	notes := map[string]string{"z.md": "needle"}
	var common []string
	for i := range 40 {
		common = append(common, fmt.Sprintf("word%c%c", 'a'+i%26, 'a'+i/26))
	}
	for i := range 5 {
		notes[fmt.Sprintf("n%d.md", i)] = strings.Join(common, " ")
	}
	m := newPlace(t, notes).open()
	require.Equal(t, "z", found(t, m, strings.Join(common, " ")+" needle")[0])
	require.Empty(t, found(t, m, "qa qb qc qd qe qf qg qh qi qj qk ql qm qn"))
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	shown := func(text string) string {
		hits, err := newPlace(t, map[string]string{"a.md": text}).open().Search(t.Context(), "leases tokens", 1)
		require.NoError(t, err)
		require.Len(t, hits, 1)
		return hits[0].Text
	}
	require.Equal(t, "short lease", shown("short lease"))
	filler := strings.Repeat("Nothing to see on this line.\n", 60)
	got := shown(filler + "A lease alone.\n" + filler + "The lease has\na token.\n" + filler)
	require.True(t, strings.HasPrefix(got, "… The lease has\na token.\nNothing"), got)
	require.True(t, strings.HasSuffix(got, " …"), got)
	require.LessOrEqual(t, len(got), maxSnippet+len("…  …")+2)
	line := strings.Repeat("é nothing ", 300) + "the Lease is here " + strings.Repeat("nothing é ", 300)
	got = shown(line)
	require.Contains(t, got, "the Lease is here")
	require.True(t, strings.HasPrefix(got, "… ") && strings.HasSuffix(got, " …"))
	require.LessOrEqual(t, len(got), maxSnippet+10)
	require.True(t, strings.HasPrefix(shown("---\ntitle: lease\n---\n"+filler), "Nothing to see"))
}

// A note that went away since the last refresh is no hit, and the index is left as it is.
func TestANoteThatWentAwayIsNoHit(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "lease", "b.md": "lease"})
	m := p.open()
	require.NoError(t, os.Remove(p.file("a.md")))
	require.Equal(t, []string{"b"}, found(t, m, "lease"))
}

// Which of many equals are shown is decided by their names, however the index came to be.
func TestEqualsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	const most = 100
	for name, number := range map[string]func(int) int{
		"forwards": func(i int) int { return i }, "backwards": func(i int) int { return most - 1 - i },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"other.md": "nothing"})
			o := p.options()
			o.Clock = func() time.Time { return time.Now().Add(time.Hour) } // so that each file is read once
			m := p.openWith(o)
			for i := range most {
				p.write(fmt.Sprintf("n%03d.md", number(i)), "# equal")
				if i%20 == 19 {
					_, err := m.Refresh(t.Context())
					require.NoError(t, err)
				}
			}
			require.Equal(t, []string{"n000", "n001", "n002"}, found(t, m, "equal")[:3])
		})
	}
}
