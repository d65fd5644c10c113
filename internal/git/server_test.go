package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killIdle kills the processes of a kind that wait for a question, and returns how many there were.
func killIdle(t *testing.T, p *servers) int {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.idle {
		require.NoError(t, s.cmd.Process.Kill())
	}
	return len(p.idle)
}

func TestAServerThatDiedIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	next := b.change(b.base, map[string]string{"a.txt": "2\n"})
	for range 3 {
		before := b.g.Spent().Calls
		for range 10 {
			_, err := b.m.Tree(t.Context(), next)
			require.NoError(t, err)
			changes, err := b.m.Changed(t.Context(), b.base, next)
			require.NoError(t, err)
			require.Len(t, changes, 1)
		}
		require.LessOrEqual(t, b.g.Spent().Calls-before, 2, "twenty questions need no process each")
		require.Equal(t, 1, killIdle(t, &b.m.reads))
		require.Equal(t, 1, killIdle(t, &b.m.diffs))
	}
}

func TestAServerThatDiesWhileItAnswers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	large := strings.Repeat("a line\n", 100_000) // more than a pipe holds
	next := b.change(b.base, map[string]string{"a.txt": large, "dir/b.txt": large, "dir/sub/c.txt": large})
	files, err := b.m.Files(t.Context(), next)
	require.NoError(t, err)
	_, err = b.m.Tree(t.Context(), next)
	require.NoError(t, err)
	answers := b.m.reads.idle[0]
	var seen []string
	require.NoError(t, b.m.ReadBlobs(t.Context(), files, func(e Entry, content []byte) error {
		require.Len(t, content, int(e.Size))
		seen = append(seen, e.Path)
		if len(seen) == 2 {
			require.NoError(t, answers.cmd.Process.Kill())
		}
		return nil
	}))
	require.Equal(t, []string{".gitignore", "a.txt", "dir/b.txt", "dir/sub/c.txt"}, seen, "each once, in order")
	require.NotNil(t, answers.cmd.ProcessState, "it has ended")
}

func TestAServerIsAskedByMany(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	next := b.change(b.base, map[string]string{"a.txt": "2\n"})
	var group sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		group.Go(func() { _, errs[i] = b.m.Changed(t.Context(), b.base, next) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.LessOrEqual(t, killIdle(t, &b.m.diffs), maxIdle)
}

func TestAServerEndsWithItsQuestion(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	ctx, cancel := context.WithCancel(t.Context())
	files, err := b.m.Files(ctx, b.base)
	require.NoError(t, err)
	err = b.m.ReadBlobs(ctx, files, func(Entry, []byte) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, killIdle(t, &b.m.reads), "no half answer is left for the next question")
	_, err = b.m.Tree(t.Context(), b.base)
	require.NoError(t, err)
	b.m.Close()
	require.Zero(t, killIdle(t, &b.m.reads))
}

func TestAllServersThatDiedAreReplaced(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	files, err := b.m.Files(t.Context(), b.base)
	require.NoError(t, err)
	require.NoError(t, b.m.ReadBlobs(t.Context(), files, func(Entry, []byte) error {
		_, err := b.m.Tree(t.Context(), b.base) // while the first one answers
		return err
	}))
	require.Equal(t, 2, killIdle(t, &b.m.reads))
	_, err = b.m.Tree(t.Context(), b.base)
	require.NoError(t, err)
}

func TestAServerThatComplainsALot(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := strings.Repeat("7", 40)
	loose := filepath.Join(b.m.Objects(), id[:2], id[2:])
	require.NoError(t, os.MkdirAll(filepath.Dir(loose), 0o755))
	require.NoError(t, os.WriteFile(loose, []byte("no object"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	infos, err := b.m.stat(ctx, append(slices.Repeat([]string{id}, 1000), b.base)) // more complaints than a pipe holds
	require.NoError(t, err)
	require.Empty(t, infos[0].kind)
	require.Equal(t, "commit", infos[1000].kind, "it answers what comes after")
}

// A newer git reports that a path is a submodule where others call it missing.
func TestASubmoduleIsNoObject(t *testing.T) {
	t.Parallel()
	info, err := parseInfo(strings.Repeat("6", 40) + " submodule")
	require.NoError(t, err)
	require.Empty(t, info.kind)
}
