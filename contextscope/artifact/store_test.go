package artifact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"divisi/contextscope/artifact"
	"divisi/internal/testkit/artifacttest"

	"github.com/stretchr/testify/require"
)

var (
	errMissing = errors.New("no such object")
	errTaken   = errors.New("the name holds another object")
	errCrash   = errors.New("the power went")
)

// blobs keeps objects. It counts the calls, and from the one numbered failAt on every call fails; 0 means none does.
type blobs struct {
	mu     sync.Mutex
	data   map[string][]byte
	calls  int
	failAt int
}

func newBlobs() *blobs { return &blobs{data: map[string][]byte{}} }

func (b *blobs) call() error {
	b.calls++
	if b.failAt > 0 && b.calls >= b.failAt {
		return errCrash
	}
	return nil
}

func (b *blobs) Put(_ context.Context, name string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.call(); err != nil {
		return err
	}
	if have, ok := b.data[name]; ok && !bytes.Equal(have, data) {
		return fmt.Errorf("put %s: %w", name, errTaken)
	}
	b.data[name] = bytes.Clone(data)
	return nil
}

func (b *blobs) Get(_ context.Context, name string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.call(); err != nil {
		return nil, err
	}
	data, ok := b.data[name]
	if !ok {
		return nil, fmt.Errorf("get %s: %w", name, errMissing)
	}
	return bytes.Clone(data), nil
}

func (b *blobs) open() *artifact.Store {
	return artifact.NewStore(b, "run-1", errMissing, errTaken)
}

func TestStore(t *testing.T) {
	t.Parallel()
	artifacttest.Run(t, func(*testing.T) *artifact.Store { return newBlobs().open() })
}

func TestScopesAreApart(t *testing.T) {
	t.Parallel()
	b := newBlobs()
	h, err := b.open().Put(t.Context(), "a", "text/plain", []byte("x"))
	require.NoError(t, err)
	_, err = artifact.NewStore(b, "run-2", errMissing, errTaken).Get(t.Context(), h)
	require.ErrorIs(t, err, artifact.ErrNotFound)
}

func TestCrashLeavesNoHalfArtifact(t *testing.T) {
	t.Parallel()
	for crash := 1; ; crash++ {
		b := newBlobs()
		one, err := b.open().Put(t.Context(), "a", "text/plain", []byte("1"))
		require.NoError(t, err)
		b.calls, b.failAt = 0, crash
		_, err = b.open().Put(t.Context(), "a", "text/plain", []byte("2"))
		if err == nil {
			require.Greater(t, crash, 3, "look-ups and two writes come first")
			return
		}
		require.ErrorIs(t, err, errCrash)
		b.failAt = 0
		_, err = b.open().Get(t.Context(), artifact.Handle{Name: "a", Version: 2, Digest: artifact.Digest([]byte("2"))})
		require.ErrorIs(t, err, artifact.ErrNotFound, "crash at call %d", crash)
		again, err := b.open().Put(t.Context(), "a", "text/plain", []byte("1"))
		require.NoError(t, err)
		require.Equal(t, one, again, "the newest is still the first")
		two, err := b.open().Put(t.Context(), "a", "text/plain", []byte("2"))
		require.NoError(t, err)
		require.Equal(t, 2, two.Version)
		got, err := b.open().Get(t.Context(), two)
		require.NoError(t, err)
		require.Equal(t, "2", string(got.Data))
	}
}

func TestDamagedArtifactIsNeverReturned(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(data map[string][]byte, object string){
		"other content":   func(d map[string][]byte, o string) { d[o] = []byte("other") },
		"content is gone": func(d map[string][]byte, o string) { delete(d, o) },
	} {
		for _, part := range []string{"#", "@"} {
			t.Run(name+" of "+part, func(t *testing.T) {
				t.Parallel()
				b := newBlobs()
				s := b.open()
				h, err := s.Put(t.Context(), "a", "text/plain", []byte("x"))
				require.NoError(t, err)
				for object := range maps.Clone(b.data) {
					if strings.Contains(object, part) {
						damage(b.data, object)
					}
				}
				_, err = s.Get(t.Context(), h)
				if part == "@" && name == "content is gone" {
					require.ErrorIs(t, err, artifact.ErrNotFound)
					return
				}
				require.ErrorIs(t, err, artifact.ErrCorrupt)
				require.ErrorContains(t, err, h.String())
				if part == "#" && name == "other content" {
					require.ErrorContains(t, err, h.Digest)
					require.ErrorContains(t, err, artifact.Digest([]byte("other")))
				}
			})
		}
	}
}

func TestWritersOfSeveralProcessesRaceForVersions(t *testing.T) {
	t.Parallel()
	const writers, each = 6, 5
	b := newBlobs()
	var wg sync.WaitGroup
	handles := make([][each]artifact.Handle, writers)
	errs := make([]error, writers)
	for i := range writers {
		s := b.open()
		wg.Go(func() {
			for j := range each {
				h, err := s.Put(t.Context(), "shared", "text/plain", fmt.Appendf(nil, "%d by %d", j, i))
				handles[i][j], errs[i] = h, errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	seen := map[int]bool{}
	for i := range writers {
		for j, h := range handles[i] {
			require.False(t, seen[h.Version], "version %d was given twice", h.Version)
			seen[h.Version] = true
			got, err := b.open().Get(t.Context(), h)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%d by %d", j, i), string(got.Data))
		}
	}
	require.True(t, seen[1] && seen[writers*each], "versions have no gaps")
}

func TestAStaleCacheDoesNotBringAnOldVersionBack(t *testing.T) {
	t.Parallel()
	b := newBlobs()
	mine, theirs := b.open(), b.open()
	put := func(s *artifact.Store, data string) int {
		h, err := s.Put(t.Context(), "a", "text/plain", []byte(data))
		require.NoError(t, err)
		return h.Version
	}
	require.Equal(t, 1, put(mine, "x"))
	require.Equal(t, 2, put(theirs, "y"))
	require.Equal(t, 3, put(mine, "x"), "the newest is y by now")
	require.Equal(t, 3, put(theirs, "x"), "another has put the same meanwhile")
	require.Equal(t, 4, put(theirs, "a"))
	require.Equal(t, 5, put(mine, "b"), "the loser of a race takes the next version")
}

func TestFindingTheNewestVersionIsNoScan(t *testing.T) {
	t.Parallel()
	const known = 1000
	b := newBlobs()
	s := b.open()
	for i := range known {
		_, err := s.Put(t.Context(), "a", "text/plain", fmt.Appendf(nil, "%d", i))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, b.calls, 2*known+1, "a writer knows its own newest version")
	b.calls = 0
	h, err := b.open().Put(t.Context(), "a", "text/plain", []byte("new"))
	require.NoError(t, err)
	require.Equal(t, known+1, h.Version)
	require.LessOrEqual(t, b.calls, 25)
}
