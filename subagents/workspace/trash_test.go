package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/subagents/workspace"
)

func TestTrashRemovesWhatAnEarlierProcessLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trash, left, now := filepath.Join(dir, "trash"), filepath.Join(dir, "trash", "left"), filepath.Join(dir, "now")
	for _, d := range []string{left, now} {
		require.NoError(t, os.MkdirAll(filepath.Join(d, "closed", "deep"), 0o700))
		require.NoError(t, os.Chmod(filepath.Join(d, "closed"), 0o500))
	}
	bin, err := workspace.OpenTrash(trash, zerolog.Nop())
	require.NoError(t, err)
	require.NoError(t, bin.Put(now))
	require.NoDirExists(t, now, "the path is free at once")
	require.NoError(t, bin.Put(now), "it is not there")
	require.True(t, bin.Close(time.Minute, func() {}))
	entries, err := os.ReadDir(trash)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// A removal that takes long holds nothing up: the rest is for the next process.
func TestTrashClosesInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of files")
	}
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	for i := range 40 { // each is deeper than what is removed in one go
		path := filepath.Join(large, string(rune('a'+i%26))+string(rune('a'+i/26)))
		for range 300 {
			path = filepath.Join(path, "d")
		}
		require.NoError(t, os.MkdirAll(path, 0o700))
	}
	bin, err := workspace.OpenTrash(filepath.Join(dir, "trash"), zerolog.Nop())
	require.NoError(t, err)
	require.NoError(t, bin.Put(large))
	slow := 0
	require.False(t, bin.Close(time.Millisecond, func() { slow++ }))
	require.LessOrEqual(t, slow, 1)
	require.NoDirExists(t, large)
	for left := 1; left > 0 && t.Context().Err() == nil; { // as long as the first one removes, others leave it alone
		next, err := workspace.OpenTrash(filepath.Join(dir, "trash"), zerolog.Nop())
		require.NoError(t, err)
		require.True(t, next.Close(time.Minute, func() {}))
		entries, err := os.ReadDir(filepath.Join(dir, "trash"))
		require.NoError(t, err)
		left = len(entries)
	}
}
