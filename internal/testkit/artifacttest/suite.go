// Package artifacttest tests stores of artifacts with one suite: one over memory, and one over the bus. Its input is a function
// that makes a store. No product code imports it.
package artifacttest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"divisi/contextscope/artifact"

	"github.com/stretchr/testify/require"
)

// Run holds a store to its contract. open returns a fresh, empty one for each test.
func Run(t *testing.T, open func(t *testing.T) *artifact.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *artifact.Store){
		"put and get":            putAndGet,
		"versions":               versions,
		"repeated put":           repeatedPut,
		"short handles":          shortHandles,
		"what is not there":      notThere,
		"names":                  badNames,
		"data is copied":         dataIsCopied,
		"empty and large":        emptyAndLarge,
		"a context that is done": doneContext,
		"concurrent puts":        concurrentPuts,
		"the same at once":       sameAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func put(t *testing.T, s *artifact.Store, name, mediaType, data string) artifact.Handle {
	t.Helper()
	h, err := s.Put(t.Context(), name, mediaType, []byte(data))
	require.NoError(t, err)
	return h
}

func putAndGet(t *testing.T, s *artifact.Store) {
	t.Helper()
	h := put(t, s, "task-1/log.txt", "text/plain", "hello")
	require.Equal(t, artifact.Handle{
		Name: "task-1/log.txt", Version: 1, Digest: artifact.Digest([]byte("hello")), Size: 5, MediaType: "text/plain",
	}, h)
	got, err := s.Get(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, artifact.Artifact{Handle: h, Data: []byte("hello")}, got)
}

func versions(t *testing.T, s *artifact.Store) {
	t.Helper()
	one, two := put(t, s, "a", "text/plain", "1"), put(t, s, "a", "text/plain", "2")
	other := put(t, s, "b", "text/plain", "2")
	back := put(t, s, "a", "text/plain", "1")
	require.Equal(t, []int{1, 2, 1, 3}, []int{one.Version, two.Version, other.Version, back.Version})
	for h, want := range map[artifact.Handle]string{one: "1", two: "2", other: "2", back: "1"} {
		got, err := s.Get(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, want, string(got.Data))
	}
}

func repeatedPut(t *testing.T, s *artifact.Store) {
	t.Helper()
	one := put(t, s, "a", "text/plain", "same")
	require.Equal(t, one, put(t, s, "a", "text/plain", "same"))
	require.Equal(t, 2, put(t, s, "a", "text/markdown", "same").Version, "another media type is another version")
}

func shortHandles(t *testing.T, s *artifact.Store) {
	t.Helper()
	h := put(t, s, "a", "text/plain", "x")
	short, err := artifact.ParseHandle(h.String())
	require.NoError(t, err)
	got, err := s.Get(t.Context(), short)
	require.NoError(t, err)
	require.Equal(t, h, got.Handle, "the handle comes back complete")
}

func notThere(t *testing.T, s *artifact.Store) {
	t.Helper()
	h := put(t, s, "a", "text/plain", "x")
	unnamed, later, forged, blind := h, h, h, h
	unnamed.Name, later.Version, forged.Digest, blind.Digest = "b", 2, artifact.Digest([]byte("y")), ""
	for _, missing := range []artifact.Handle{unnamed, later, forged, blind, {}} {
		_, err := s.Get(t.Context(), missing)
		require.ErrorIs(t, err, artifact.ErrNotFound, "%+v", missing)
	}
}

func badNames(t *testing.T, s *artifact.Store) {
	t.Helper()
	for _, name := range []string{"", "../a", "a/../b", "/a", "a/", "a b", "a@1", "a#1", ".hidden", "ä", "a\n"} {
		_, err := s.Put(t.Context(), name, "text/plain", []byte("x"))
		require.ErrorIs(t, err, artifact.ErrHandle, "%q", name)
	}
}

func dataIsCopied(t *testing.T, s *artifact.Store) {
	t.Helper()
	data := []byte("mine")
	h, err := s.Put(t.Context(), "a", "text/plain", data)
	require.NoError(t, err)
	data[0] = 'X'
	got, err := s.Get(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, "mine", string(got.Data))
	got.Data[0] = 'Y'
	got, err = s.Get(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, "mine", string(got.Data))
}

func emptyAndLarge(t *testing.T, s *artifact.Store) {
	t.Helper()
	for _, size := range []int{0, 1, 1 << 20} {
		data := bytes.Repeat([]byte{0, 255, '\n'}, size)[:size]
		h, err := s.Put(t.Context(), fmt.Sprintf("size-%d", size), "application/octet-stream", data)
		require.NoError(t, err)
		require.Equal(t, int64(size), h.Size)
		got, err := s.Get(t.Context(), h)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got.Data), "%d bytes come back as they were", size)
	}
}

func doneContext(t *testing.T, s *artifact.Store) {
	t.Helper()
	h := put(t, s, "a", "text/plain", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Put(ctx, "a", "text/plain", []byte("y"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Get(ctx, h)
	require.ErrorIs(t, err, context.Canceled)
}

func concurrentPuts(t *testing.T, s *artifact.Store) {
	t.Helper()
	const writers = 8
	handles, errs := make([]artifact.Handle, writers), make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { handles[i], errs[i] = s.Put(t.Context(), "shared", "text/plain", fmt.Appendf(nil, "by %d", i)) })
	}
	wg.Wait()
	seen := map[int]bool{}
	for i, h := range handles {
		require.NoError(t, errs[i])
		require.False(t, seen[h.Version], "version %d was given twice", h.Version)
		seen[h.Version] = true
		got, err := s.Get(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("by %d", i), string(got.Data))
	}
	require.Len(t, seen, writers)
	require.True(t, seen[1] && seen[writers], "versions have no gaps")
}

func sameAtOnce(t *testing.T, s *artifact.Store) {
	t.Helper()
	const writers = 8
	handles, errs := make([]artifact.Handle, writers), make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { handles[i], errs[i] = s.Put(t.Context(), "shared", "text/plain", []byte("same")) })
	}
	wg.Wait()
	want := put(t, s, "shared", "text/plain", "same")
	require.Equal(t, 1, want.Version)
	for i, h := range handles {
		require.NoError(t, errs[i])
		require.Equal(t, want, h)
	}
}
