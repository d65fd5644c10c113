package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCreateMirror(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write("a.txt", "second\n")
	u.commit("second")
	b := u.mirrored()
	require.Equal(t, b.base, b.m.Base())
	require.Equal(t, "1", userGit(t, b.m.Dir(), "rev-list", "--count", b.base), "no history")
	userGit(t, b.m.Dir(), "fsck", "--strict", "--no-dangling")
	require.NoFileExists(t, filepath.Join(b.m.Dir(), "objects", "info", "alternates"))
	again, err := b.g.CreateMirror(t.Context(), b.m.Dir(), b.c, b.base)
	require.NoError(t, err)
	require.Equal(t, b.m, again)
	first := u.git("rev-parse", "HEAD~1")
	_, err = b.g.CreateMirror(t.Context(), b.m.Dir(), b.c, first)
	require.ErrorIs(t, err, ErrOtherBase)
	_, err = b.g.OpenMirror(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = b.g.CreateMirror(t.Context(), filepath.Join(t.TempDir(), "m"), b.c, strings.Repeat("1", 40))
	require.Error(t, err)
}

func TestCreateMirrorIsCancelled(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	g := newGit(t)
	c, err := g.Inspect(t.Context(), u.dir)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "m.git")
	_, err = g.CreateMirror(ctx, dir, c, c.Head)
	require.ErrorIs(t, err, context.Canceled)
	require.NoDirExists(t, dir)
	_, err = g.CreateMirror(t.Context(), dir, c, c.Head)
	require.NoError(t, err)
}

func TestQuotedAlternates(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	odd := filepath.Join(t.TempDir(), "a\nb\"c#d")
	require.NoError(t, os.Rename(u.dir, odd))
	u.dir = odd
	b := u.mirrored()
	files, err := b.m.Files(t.Context(), b.base)
	require.NoError(t, err)
	require.Len(t, files, 4)
}

// An object's file can hold anything. What a repository calls an object does not count: the mirror is of what the ids say.
func TestCreateMirrorOfADamagedRepository(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	id := u.git("rev-parse", "HEAD:dir/b.txt")
	path := filepath.Join(u.dir, ".git", "objects", id[:2], id[2:])
	other := t.TempDir()
	forged, err := writeLoose(other, len(id), "blob", []byte("x\n"))
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(other, forged[:2], forged[2:]))
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, data, 0o444))

	g := newGit(t)
	c, err := g.Inspect(t.Context(), u.dir)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "mirror.git")
	_, err = g.CreateMirror(t.Context(), dir, c, c.Head)
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, id)
	require.NoDirExists(t, dir)
}

func TestExitErrorOfTheMachine(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]error{
		"error: unable to write file a.txt: No space left on device":        syscall.ENOSPC,
		"fatal: Out of memory, malloc failed (tried to allocate 9 bytes)":   syscall.ENOMEM,
		"warning: x\nerror: open(\"a.txt\"): Too many open files in system": syscall.ENFILE,
		"fatal: sha1 file 'p.pack' write error. Out of diskspace":           syscall.ENOSPC,
		"fatal: failed to encode 'a.txt' from UTF-16 to UTF-8":              nil,
		"fatal: pathspec 'no space left on device' did not match":           nil,
		"error: open(\"x: Out of memory\"): Permission denied":              nil,
		"error: no space left on device: already exists in index":           nil,
		"\tsrc: No space left on device":                                    nil,
	} {
		require.Equal(t, want, (&ExitError{Args: []string{"x"}, Code: 128, Stderr: stderr}).Unwrap(), stderr)
	}
}
