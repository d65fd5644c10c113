package memory

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// started when it is imported, by a dependency of the genai library; it never ends
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// place is a repository with notes, and a home for proposals.
type place struct {
	t    *testing.T
	repo string
	home string
}

func newPlace(t *testing.T, notes map[string]string) *place {
	t.Helper()
	p := &place{t: t, repo: t.TempDir(), home: filepath.Join(t.TempDir(), "state", "memory", "x")}
	for name, text := range notes {
		p.write(name, text)
	}
	return p
}

func (p *place) file(name string) string {
	return filepath.Join(p.repo, filepath.FromSlash(Place), name)
}

func (p *place) write(name, text string) {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(filepath.Dir(p.file(name)), 0o755))
	require.NoError(p.t, os.WriteFile(p.file(name), []byte(text), 0o600))
}

func (p *place) options() Options {
	return Options{Repo: p.repo, Home: p.home, Clock: func() time.Time { return noon }}
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// open opens the memory, which must have exactly these problems.
func (p *place) open(problems ...string) *Memory {
	p.t.Helper()
	return p.openWith(p.options(), problems...)
}

func (p *place) openWith(o Options, problems ...string) *Memory {
	p.t.Helper()
	m, found, err := Open(p.t.Context(), o)
	require.NoError(p.t, err)
	require.Len(p.t, found, len(problems), "%v", found)
	for i, want := range problems {
		require.Contains(p.t, found[i].String(), want)
	}
	return m
}

// accept proposes a note and accepts it.
func (p *place) accept(m *Memory, n Note) error {
	p.t.Helper()
	id, err := m.Propose(p.t.Context(), n)
	require.NoError(p.t, err)
	_, err = m.Accept(p.t.Context(), id)
	return err
}

// found returns the names of the notes that a query finds, the best first.
func found(t testing.TB, m *Memory, query string) []string {
	t.Helper()
	hits, err := m.Search(t.Context(), query, 10)
	require.NoError(t, err)
	names := []string{}
	for _, h := range hits {
		names = append(names, h.Name)
	}
	return names
}
