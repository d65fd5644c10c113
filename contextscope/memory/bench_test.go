package memory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// vocabulary is 6,000 words as prose and code have them, the commonest first.
func vocabulary() []string {
	words := strings.Fields(`parse http header write set landing queue gate test flake retry budget token lease stream shard
		merge base patch tree index note memory search model prompt cache role master reader tester slot work render event log`)
	syllables := strings.Fields("ba co di fu ge ha jo ki lu me no pa qui ro sa te vi wo xe zu")
	for i := range 4000 {
		words = append(words, syllables[i%20]+syllables[i/20%20]+syllables[i/400%20])
	}
	for i := range 2000 {
		a, b := words[(i*7)%600], words[(i*13+5)%600]
		words = append(words, a+strings.ToUpper(b[:1])+b[1:])
	}
	return words
}

// writeNotes makes a repository with so many notes of one to two kilobytes.
func writeNotes(tb testing.TB, count int) (repo string) {
	tb.Helper()
	repo = tb.TempDir()
	words, r := vocabulary(), rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.05, 100, uint64(len(words)-1)) // as words in text are
	word := func() string { return words[zipf.Uint64()] }
	for i := range count {
		dir := filepath.Join(repo, filepath.FromSlash(Place), fmt.Sprintf("d%02d", i%20))
		require.NoError(tb, os.MkdirAll(dir, 0o755))
		var b strings.Builder
		for size := 1000 + r.IntN(1000); b.Len() < size; {
			b.WriteString(word())
			if b.WriteByte(' '); r.IntN(12) == 0 {
				b.WriteByte('\n')
			}
		}
		n := Note{
			Title: word() + " and " + word(), Tags: []string{word()}, Paths: []string{word() + "/**/*.go"},
			Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Source: "run/task", Text: b.String(),
		}
		require.NoError(tb, os.WriteFile(filepath.Join(dir, fmt.Sprintf("n%05d.md", i)), n.Render(), 0o600))
	}
	return repo
}

const benchNotes = 5000

// Building the index of 5,000 notes takes a second or two, and looking whether they changed a small part of that.
func BenchmarkIndex(b *testing.B) {
	repo := writeNotes(b, benchNotes)
	b.Run("build", func(b *testing.B) {
		for range b.N {
			_, problems, err := Open(b.Context(), Options{Repo: repo})
			require.NoError(b, err)
			require.Empty(b, problems)
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/build")
	})
	b.Run("refresh", func(b *testing.B) {
		later := func() time.Time { return time.Now().Add(time.Hour) }
		m, _, err := Open(b.Context(), Options{Repo: repo, Clock: later})
		require.NoError(b, err)
		for b.Loop() {
			_, err := m.Refresh(b.Context())
			require.NoError(b, err)
		}
	})
}

// A search in 5,000 notes takes 10 to 20 ms, and by a whole turn 100 ms; reading and splitting them all for each query is what
// it is measured by.
func BenchmarkSearch(b *testing.B) {
	repo := writeNotes(b, benchNotes)
	m, _, err := Open(b.Context(), Options{Repo: repo})
	require.NoError(b, err)
	notes, err := m.List(b.Context())
	require.NoError(b, err)
	require.Len(b, notes, benchNotes)
	for _, q := range []struct{ name, query string }{
		{"two", "http header"},
		{"identifier", "parseHTTPHeader bus_owner"},
		{"rare", "geComeBa zuzu_dico vivime"},
		{"turn", "Landing queue retries a flake\ninternal/gate/run.go orchestrator/land.go\n" + notes[7].Text[:400] + notes[9].Text[:400]},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				hits, err := m.Search(b.Context(), q.query, 8)
				require.NoError(b, err)
				require.NotEmpty(b, hits)
			}
			search := b.Elapsed().Seconds() / float64(b.N)
			begin := time.Now()
			require.NotZero(b, scan(notes, q.query))
			b.ReportMetric(search*1e3, "ms/search")
			b.ReportMetric(time.Since(begin).Seconds()/search, "x-faster-than-scan")
		})
	}
}

// scan counts the notes that hold a term of the query, the plain way.
func scan(notes []Note, query string) int {
	terms, found := map[string]bool{}, 0
	for _, term := range asked(query, maxAsked) {
		terms[term] = true
	}
	for _, n := range notes {
		held := false
		eachTerm(strings.Join([]string{n.Title, strings.Join(n.Tags, " "), strings.Join(n.Paths, " "), n.Text}, "\n"),
			func(term string) { held = held || terms[term] })
		if held {
			found++
		}
	}
	return found
}
