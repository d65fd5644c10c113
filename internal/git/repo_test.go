package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFilesAndBlobs(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write("run.sh", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(u.dir, "run.sh"), 0o755))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(u.dir, "link")))
	u.write("odd\nname \"q\" \tü.txt", "odd")
	u.write("empty", "")
	u.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	u.git("add", "-A", "--", ":!sub")
	u.git("commit", "-q", "-m", "second")
	b := u.mirrored()
	files, err := b.m.Files(t.Context(), b.base)
	require.NoError(t, err)
	byPath := map[string]Entry{}
	for _, e := range files {
		byPath[e.Path] = e
	}
	require.Len(t, byPath, 9)
	require.Equal(t, ModeExec, byPath["run.sh"].Mode)
	require.Equal(t, ModeSymlink, byPath["link"].Mode)
	require.Equal(t, ModeGitlink, byPath["sub"].Mode)
	require.EqualValues(t, 10, byPath["run.sh"].Size)
	got := map[string]string{}
	require.NoError(t, b.m.ReadBlobs(t.Context(), files, func(e Entry, content []byte) error {
		require.Len(t, content, int(e.Size))
		got[e.Path] = string(content)
		return nil
	}))
	require.Equal(t, map[string]string{
		".gitignore": "*.log\n", "a.txt": "one\ntwo\nthree\n", "dir/b.txt": "b\n", "dir/sub/c.txt": "c\n", "empty": "",
		"link": "a.txt", "odd\nname \"q\" \tü.txt": "odd", "run.sh": "#!/bin/sh\n",
	}, got)

	stop := errors.New("stop")
	require.ErrorIs(t, b.m.ReadBlobs(t.Context(), files, func(Entry, []byte) error { return stop }), stop)
	missing := []Entry{{Path: "x", Mode: ModeFile, OID: strings.Repeat("2", 40)}}
	require.ErrorIs(t, b.m.ReadBlobs(t.Context(), missing, nil), ErrNotFound)
	require.NoError(t, b.m.ReadBlobs(t.Context(), nil, nil))
}

func TestReadBlobsOfManyFiles(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	files, err := b.m.Files(t.Context(), b.base)
	require.NoError(t, err)
	var many []Entry
	for range 3000 {
		many = append(many, files...)
	}
	n := 0
	require.NoError(t, b.m.ReadBlobs(t.Context(), many, func(Entry, []byte) error { n++; return nil }))
	require.Equal(t, len(many), n)
	stop := errors.New("stop")
	require.ErrorIs(t, b.m.ReadBlobs(t.Context(), many, func(Entry, []byte) error { return stop }), stop)
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	data, err := b.m.ReadFile(t.Context(), b.base, "dir/b.txt", 100)
	require.NoError(t, err)
	require.Equal(t, "b\n", string(data))
	_, err = b.m.ReadFile(t.Context(), b.base, "a.txt", 5)
	require.ErrorIs(t, err, ErrTooLarge)
	for _, path := range []string{"nothing", "dir"} {
		_, err = b.m.ReadFile(t.Context(), b.base, path, 100)
		require.ErrorIs(t, err, ErrNotFound, path)
	}
	for _, path := range []string{"/a.txt", "../a.txt", "", "a.txt\x00"} {
		_, err = b.m.ReadFile(t.Context(), b.base, path, 100)
		require.ErrorIs(t, err, ErrBadName, path)
	}
	_, err = b.m.ReadFile(t.Context(), "HEAD", "a.txt", 100)
	require.ErrorIs(t, err, ErrBadName)
	big := b.change(b.base, map[string]string{"big": strings.Repeat("x", 300_000)})
	_, err = b.m.ReadFile(t.Context(), big, "big", 299_999)
	require.ErrorIs(t, err, ErrTooLarge)
	data, err = b.m.ReadFile(t.Context(), big, "big", 300_000)
	require.NoError(t, err)
	require.Len(t, data, 300_000)
}

func TestUpdateRef(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const ref = "refs/heads/divisi/run"
	one, two := b.change(b.base, map[string]string{"a.txt": "1"}), b.change(b.base, map[string]string{"a.txt": "2"})
	_, err := b.m.Ref(t.Context(), ref)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, b.m.UpdateRef(t.Context(), ref, two, one), ErrStale)
	require.NoError(t, b.m.UpdateRef(t.Context(), ref, one, ""))
	require.ErrorIs(t, b.m.UpdateRef(t.Context(), ref, two, ""), ErrStale)
	require.NoError(t, b.m.UpdateRef(t.Context(), ref, two, one))
	require.ErrorIs(t, b.m.UpdateRef(t.Context(), ref, one, one), ErrStale)
	got, err := b.m.Ref(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, two, got)
	_, err = b.m.Ref(t.Context(), "refs/heads/divisi")
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, b.m.UpdateRef(t.Context(), ref, "", two))
	_, err = b.m.Ref(t.Context(), ref)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, b.m.UpdateRef(t.Context(), "HEAD", one, ""), ErrBadName)
	require.ErrorIs(t, b.m.UpdateRef(t.Context(), ref, "HEAD", ""), ErrBadName)
	missing := b.m.UpdateRef(t.Context(), ref, strings.Repeat("3", 40), "")
	require.Error(t, missing)
	require.NotErrorIs(t, missing, ErrStale)
}

func TestUpdateRefAfterAGitThatWasKilled(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const ref = "refs/heads/divisi/run"
	require.NoError(t, b.m.UpdateRef(t.Context(), ref, b.base, ""))
	lock := filepath.Join(b.m.Dir(), filepath.FromSlash(ref)+".lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	one := b.change(b.base, map[string]string{"a.txt": "1"})
	require.ErrorContains(t, b.m.UpdateRef(t.Context(), ref, one, b.base), "File exists", "another git may hold it")
	old := time.Now().Add(-staleLock)
	require.NoError(t, os.Chtimes(lock, old, old))
	require.NoError(t, b.m.UpdateRef(t.Context(), ref, one, b.base))
	require.NoFileExists(t, lock)
}

func TestUpdateRefIsNotBrokenOff(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const ref = "refs/heads/divisi/run"
	at := ""
	for i := range 20 {
		to := b.change(b.base, map[string]string{"a.txt": strings.Repeat("x", i+1)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*200*time.Microsecond)
		err := b.m.UpdateRef(ctx, ref, to, at)
		cancel()
		got, readErr := b.m.Ref(t.Context(), ref)
		if err == nil {
			require.NoError(t, readErr)
			require.Equal(t, to, got)
			at = to
			continue
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoFileExists(t, filepath.Join(b.m.Dir(), filepath.FromSlash(ref)+".lock"))
	}
}

func TestUpdateRefHasOneWinner(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const ref = "refs/heads/race"
	require.NoError(t, b.m.UpdateRef(t.Context(), ref, b.base, ""))
	ids := make([]string, 8)
	for i := range ids {
		ids[i] = b.change(b.base, map[string]string{"a.txt": strings.Repeat("x", i+1)})
	}
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { errs[i] = b.m.UpdateRef(t.Context(), ref, ids[i], b.base) })
	}
	wg.Wait()
	got, err := b.m.Ref(t.Context(), ref)
	require.NoError(t, err)
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			require.Equal(t, ids[i], got)
			continue
		}
		require.ErrorIs(t, err, ErrStale)
	}
	require.Equal(t, 1, won)
}

func TestHas(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tree, err := b.m.Tree(t.Context(), b.base)
	require.NoError(t, err)
	for id, want := range map[string]bool{b.base: true, tree: false, strings.Repeat("4", 40): false} {
		got, err := b.m.Has(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = b.m.Has(t.Context(), "main")
	require.ErrorIs(t, err, ErrBadName)
}
