// Package tooltest runs tools in tests: over a tree of files, through a Set, as an agent calls them.
package tooltest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"divisi/contextscope/artifact"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
)

// Args are the arguments of a call.
type Args = map[string]any

// Bench runs calls; Dir is its tree.
type Bench struct {
	T   testing.TB
	Dir string
	Set *tool.Set
}

// New makes a tree of files (path -> content). The tools over it are put into Set with Use.
func New(t testing.TB, files map[string]string) (b *Bench, root *os.Root) {
	t.Helper()
	b = &Bench{T: t, Dir: t.TempDir()}
	for name, content := range files {
		full := filepath.Join(b.Dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
	}
	root, err := os.OpenRoot(b.Dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return b, root
}

// Use makes the set of the tools.
func (b *Bench) Use(tools ...tool.Tool) *Bench {
	b.T.Helper()
	set, err := tool.NewSet(nil, nil, tools...)
	require.NoError(b.T, err)
	b.Set = set
	return b
}

// Run runs a call.
func (b *Bench) Run(name string, a Args) tool.Result {
	b.T.Helper()
	return b.Set.Run(b.T.Context(), tool.Call{ID: "c1", Name: name, Args: a})
}

// OK runs a call that must succeed and returns its output.
func (b *Bench) OK(name string, a Args) string {
	b.T.Helper()
	r := b.Run(name, a)
	require.False(b.T, r.Err, "%v", r.Output)
	output, ok := r.Output["output"].(string)
	require.True(b.T, ok)
	return output
}

// Fails runs a call that must fail and returns its error.
func (b *Bench) Fails(name string, a Args) string {
	b.T.Helper()
	r := b.Run(name, a)
	require.True(b.T, r.Err, "%v", r.Output)
	message, ok := r.Output["error"].(string)
	require.True(b.T, ok)
	return message
}

// Content is a file of the tree.
func (b *Bench) Content(name string) string {
	b.T.Helper()
	data, err := os.ReadFile(filepath.Join(b.Dir, filepath.FromSlash(name)))
	require.NoError(b.T, err)
	return string(data)
}

// Store keeps artifacts in memory under their names.
type Store struct {
	mu   sync.Mutex
	data map[string][]byte
}

// Put implements tool.Artifacts.
func (s *Store) Put(_ context.Context, name string, data []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		s.data = map[string][]byte{}
	}
	s.data[name] = data
	return name, nil
}

// Get implements tool.ArtifactReader.
func (s *Store) Get(_ context.Context, handle string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.data[handle]
	if !ok {
		return nil, fmt.Errorf("get %s: %w", handle, artifact.ErrNotFound)
	}
	return data, nil
}
