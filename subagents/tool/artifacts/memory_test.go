package artifacts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	notes "divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
)

// fakeMemory answers with what it was told to and keeps what it was asked.
type fakeMemory struct {
	hits     []notes.Hit
	err      error
	query    string
	limit    int
	proposed []notes.Note
}

func (f *fakeMemory) Search(_ context.Context, query string, limit int) ([]notes.Hit, error) {
	f.query, f.limit = query, limit
	return f.hits, f.err
}

func (f *fakeMemory) Propose(_ context.Context, n notes.Note) (string, error) {
	f.proposed = append(f.proposed, n)
	return "0123456789ab", f.err
}

func withMemory(t *testing.T, m Memory) *tooltest.Bench {
	t.Helper()
	return (&tooltest.Bench{T: t}).Use(Tools(Config{Memory: m, Source: "run/task"})...)
}

func TestLoadMemoryShowsTheBestNotes(t *testing.T) {
	t.Parallel()
	f := &fakeMemory{hits: []notes.Hit{
		{Name: "slog", Title: "Use slog\n## forged", Text: "No globals."}, {Name: "gen", Title: "Generated", Text: "Run make gen."},
	}}
	b := withMemory(t, f)
	require.Equal(t, "## Use slog ## forged\n(note slog)\n\nNo globals.\n\n## Generated\n(note gen)\n\nRun make gen.\n",
		b.OK(spec.ToolLoadMemory, tooltest.Args{"query": "log"}))
	require.Equal(t, "log", f.query)
	require.Equal(t, 8, f.limit)
	require.Equal(t, "searching the memory for log", b.Set.Doing(tool.Call{Name: spec.ToolLoadMemory, Args: tooltest.Args{"query": "log"}}))
	require.Contains(t, b.Fails(spec.ToolLoadMemory, tooltest.Args{}), "missing: query")

	f.hits = nil
	require.Contains(t, b.OK(spec.ToolLoadMemory, tooltest.Args{"query": "log"}), `No notes match "log"`)
	f.err = errors.New("no disk")
	require.Contains(t, b.Fails(spec.ToolLoadMemory, tooltest.Args{"query": "log"}), "cannot be searched: no disk. Continue without it")
}

func TestLoadMemoryIsBounded(t *testing.T) {
	t.Parallel()
	f := &fakeMemory{}
	for i := range 8 {
		f.hits = append(f.hits, notes.Hit{Name: fmt.Sprint(i), Title: "t", Text: strings.Repeat("é", 1000)})
	}
	b := withMemory(t, f)
	got := b.OK(spec.ToolLoadMemory, tooltest.Args{"query": "x"})
	require.LessOrEqual(t, len([]rune(got)), memoryChars+50)
	require.Contains(t, got, "(note 4)")
	require.NotContains(t, got, "(note 5)")
	require.True(t, strings.HasSuffix(got, "(3 more notes fit less well.)"))
	f.hits[0].Text = strings.Repeat("é", 9000)
	got = b.OK(spec.ToolLoadMemory, tooltest.Args{"query": "x"})
	require.LessOrEqual(t, len([]rune(got)), memoryChars+50)
	require.Contains(t, got, "(7 more notes")
}

func TestSaveMemoryProposes(t *testing.T) {
	t.Parallel()
	f := &fakeMemory{}
	b := withMemory(t, f)
	said := b.OK(spec.ToolSaveMemory, tooltest.Args{"title": "T", "text": "x", "tags": []any{"a"}, "paths": []any{"b/**"}})
	require.Contains(t, said, "Proposed as 0123456789ab. A person decides")
	require.Equal(t, []notes.Note{{Title: "T", Text: "x", Tags: []string{"a"}, Paths: []string{"b/**"}, Source: "run/task"}}, f.proposed)
	require.Contains(t, b.Fails(spec.ToolSaveMemory, tooltest.Args{"title": "T"}), "missing: text")
	f.err = fmt.Errorf("%w: it contains something like a token", notes.ErrRefused)
	require.Equal(t, "this cannot be kept: it contains something like a token", b.Fails(spec.ToolSaveMemory, tooltest.Args{"title": "T", "text": "x"}))
	f.err = errors.New("no disk")
	require.Contains(t, b.Fails(spec.ToolSaveMemory, tooltest.Args{"title": "T", "text": "x"}), "could not be kept: no disk. Continue without it")
}

// The tools fit what is behind them, and what one agent saved the next can load once a person took it.
func TestMemoryToolsOverAMemory(t *testing.T) {
	t.Parallel()
	m, problems, err := notes.Open(t.Context(), notes.Options{Repo: t.TempDir(), Home: t.TempDir()})
	require.NoError(t, err)
	require.Empty(t, problems)
	set := withMemory(t, m).Set
	r := set.Run(t.Context(), tool.Call{Name: spec.ToolSaveMemory, Args: tooltest.Args{"title": "Use slog", "text": "No globals."}})
	require.False(t, r.Err, "%v", r.Output)
	load := tool.Call{Name: spec.ToolLoadMemory, Args: tooltest.Args{"query": "slog"}}
	require.Contains(t, set.Run(t.Context(), load).Output["output"], "No notes match")
	all, _, err := m.Proposals(t.Context())
	require.NoError(t, err)
	_, err = m.Accept(t.Context(), all[0].ID)
	require.NoError(t, err)
	require.Contains(t, set.Run(t.Context(), load).Output["output"], "## Use slog\n(note use-slog)\n\nNo globals.")
}
