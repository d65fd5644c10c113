package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/subagents/workspace"
)

// converting is a repository whose attributes have git write other bytes than it stores.
func converting(t *testing.T) *bundle {
	t.Helper()
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	userGit(t, user, "init", "-q", "-b", "main")
	write(t, filepath.Join(user, "old.win"), "stored\r\nwith CR\r\n")
	userGit(t, user, "add", "-A")
	write(t, filepath.Join(user, ".gitattributes"),
		"*.win text eol=crlf\n*.txt text\n*.u16 text working-tree-encoding=UTF-16LE-BOM\n*.id ident\n")
	write(t, filepath.Join(user, "a.win"), "one\r\ntwo\r\n")
	write(t, filepath.Join(user, "a.txt"), "one\ntwo\n")
	write(t, filepath.Join(user, "a.u16"), utf16("one\n"))
	write(t, filepath.Join(user, "a.id"), "$Id$\none\n")
	userGit(t, user, "add", "-A", ":!old.win")
	userGit(t, user, "commit", "-q", "-m", "first")
	return mirrorOf(t, user)
}

func utf16(s string) string {
	out := "\xff\xfe"
	for _, c := range s {
		out += string(c) + "\x00"
	}
	return out
}

// A tree has the bytes of a plain clone, and an edit lands as git add would store it.
func TestConvertedFiles(t *testing.T) {
	t.Parallel()
	b := converting(t)
	s := b.slot(t)
	clone := plainClone(t, b.user)
	requireSameFiles(t, clone, s.Dir())
	require.Equal(t, "one\r\ntwo\r\n", read(t, filepath.Join(s.Dir(), "a.win")))
	p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Nil(t, p, "what is stored otherwise than its attributes ask is no change")

	for name, content := range map[string]string{
		"a.win": "one\r\n2\r\n", "a.txt": "one\r\n2\r\n", "a.u16": utf16("two\n"), "a.id": "$Id: x $\ntwo\n", "new.win": "x\r\n",
		"old.win": "stored\r\nnew\r\n",
	} {
		write(t, filepath.Join(s.Dir(), name), content)
		edit(t, filepath.Join(clone, name), content)
	}
	p, _, err = s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Equal(t, userGit(t, clone, "ls-tree", "-r", addAll(t, clone)), userGit(t, s.Dir()+".git", "ls-tree", "-r", p.Tree))
	require.NoError(t, s.Reset(t.Context(), b.base))
	requireSameFiles(t, plainClone(t, b.user), s.Dir())
}

// A file that git would store as before is rewritten all the same: the next attempt begins on the bytes of a checkout.
func TestResetWritesWhatGitTakesForUnchanged(t *testing.T) {
	t.Parallel()
	b := converting(t)
	s := b.slot(t)
	same := func() {
		t.Helper()
		for name, content := range map[string]string{"a.win": "one\ntwo\n", "a.txt": "one\r\ntwo\r\n"} {
			write(t, filepath.Join(s.Dir(), name), content)
		}
		tree, err := s.Tree(t.Context())
		require.NoError(t, err)
		require.Equal(t, userGit(t, b.user, "rev-parse", "HEAD^{tree}"), tree)
	}
	same()
	require.NoError(t, s.Reset(t.Context(), b.base))
	requireSameFiles(t, plainClone(t, b.user), s.Dir())
	same()
	changed, err := s.Restore(t.Context(), b.base)
	require.NoError(t, err)
	require.Empty(t, changed)
	requireSameFiles(t, plainClone(t, b.user), s.Dir())
}

// A change is seen wherever it is in a file, however long that is.
func TestSlowAChangeAtTheEndOfALongFile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it stores 256 MiB")
	}
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	userGit(t, user, "init", "-q", "-b", "main")
	write(t, filepath.Join(user, "long.z"), "stored\r\nso\r\n"+strings.Repeat("\x00", git.MaxPatchBytes))
	userGit(t, user, "add", "-A")
	write(t, filepath.Join(user, ".gitattributes"), "*.z text\n")
	userGit(t, user, "add", ".gitattributes")
	userGit(t, user, "commit", "-q", "-m", "first")
	s := mirrorOf(t, user).slot(t)
	long := filepath.Join(s.Dir(), "long.z")
	changed, err := s.Changed(t.Context())
	require.NoError(t, err)
	require.Empty(t, changed)
	f, err := os.OpenFile(long, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("x"), git.MaxPatchBytes+5)
	require.NoError(t, errors.Join(err, f.Close()))
	changed, err = s.Changed(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"long.z"}, changed)
}

// Other attributes have all files rewritten, also where a command changed them.
func TestResetAfterAttributesChange(t *testing.T) {
	t.Parallel()
	b := converting(t)
	s := b.slot(t)
	for _, scan := range []bool{true, false} {
		write(t, filepath.Join(s.Dir(), ".gitattributes"), "*.txt text eol=crlf\n")
		write(t, filepath.Join(s.Dir(), "a.txt"), "one\r\ntwo\r\nthree\r\n")
		write(t, filepath.Join(s.Dir(), "a.win"), "one\ntwo\n")
		if scan {
			_, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
			require.NoError(t, err)
		}
		require.NoError(t, s.Reset(t.Context(), b.base))
		requireSameFiles(t, plainClone(t, b.user), s.Dir())
	}
	write(t, filepath.Join(s.Dir(), ".gitattributes"), "*.txt text eol=crlf\n")
	p, pack, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{".gitattributes"}, p.Files)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	require.NoError(t, s.Reset(t.Context(), p.Commit))
	require.Equal(t, "one\r\ntwo\r\n", read(t, filepath.Join(s.Dir(), "a.txt")))
	require.Equal(t, "one\ntwo\n", read(t, filepath.Join(s.Dir(), "a.win")))
}

func TestSettingsOfLineEnds(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "one\ntwo\n"})
	require.NoError(t, b.mirror.KeepRefs(git.Refs{
		Branch: "main", Remote: "origin", Default: "main", Ends: git.Ends{AutoCRLF: "true"},
	}))
	pool, err := workspace.NewPool(b.git, b.mirror, filepath.Join(t.TempDir(), "slots"), time.Time{})
	require.NoError(t, err)
	b.pool = pool
	s := b.slot(t)
	require.Equal(t, "one\r\ntwo\r\n", read(t, filepath.Join(s.Dir(), "a.txt")))
	require.Equal(t, "true", userGit(t, s.Dir(), "config", "core.autocrlf"))
	require.Empty(t, userGit(t, s.Dir(), "status", "--porcelain"))
	write(t, filepath.Join(s.Dir(), "a.txt"), "one\r\nthree\r\n")
	p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{p.Added, p.Deleted})
}

// A person who takes an attempt and gives it back edits the files of a checkout too.
func TestAdoptConvertedFiles(t *testing.T) {
	t.Parallel()
	b := converting(t)
	dir := t.TempDir()
	c, err := b.mirror.Clone(t.Context(), dir, "task", b.base)
	require.NoError(t, err)
	require.NoError(t, c.Lay(t.Context(), b.base, b.base))
	requireSameFiles(t, plainClone(t, b.user), dir)
	adopt := func() *workspace.Slot {
		s, err := workspace.Adopt(t.Context(), b.mirror, dir, t.TempDir(), b.base)
		require.NoError(t, err)
		return s
	}
	p, _, err := adopt().Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Nil(t, p)
	write(t, filepath.Join(dir, "a.win"), "one\r\n2\r\n")
	write(t, filepath.Join(dir, "a.u16"), utf16("two\n"))
	p, _, err = adopt().Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"a.u16", "a.win"}, p.Files)
	require.Equal(t, []int{2, 2}, []int{p.Added, p.Deleted})
}

// A repository does not choose code that is seldom tried: what it names is left as it is stored, or refused.
func TestForeignEncodings(t *testing.T) {
	t.Parallel()
	const foreign = "*.x working-tree-encoding=ISO-2022-CN-EXT\n"
	b := newBundle(t, map[string]string{"a.x": "a\n", "b.txt": "b\n"})
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), "sub", ".gitattributes"), foreign)
	write(t, filepath.Join(s.Dir(), "a.x"), "A\n")
	var refused *workspace.ContentError
	_, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Why, "sub/.gitattributes asks for an encoding")
	require.NoError(t, s.Reset(t.Context(), b.base))

	// What an attempt hides counts for nothing.
	write(t, filepath.Join(s.Dir(), ".gitignore"), ".git*\n")
	write(t, filepath.Join(s.Dir(), ".gitattributes"), "* working-tree-encoding=UTF-16\n")
	write(t, filepath.Join(s.Dir(), "a.x"), "A\r\n")
	p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"a.x"}, p.Files)

	b = newBundle(t, map[string]string{"b.txt": "b\n", "sub/.gitattributes": foreign + "*.u working-tree-encoding=UTF-16LE-BOM\n"})
	write(t, filepath.Join(b.user, "sub", "a.u"), utf16("a\n"))
	userGit(t, b.user, "add", "-A")
	userGit(t, b.user, "commit", "-q", "-m", "encoded")
	b = mirrorOf(t, b.user)
	require.Equal(t, "a\n", read(t, filepath.Join(b.slot(t).Dir(), "sub", "a.u")))
}

// Some patterns keep git busy for ever with the file that they are tried on. What a command has left of them ends no reset.
func TestPatternsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	file := strings.Repeat("a/", 60) + "f"
	b := newBundle(t, map[string]string{file: "f\n"})
	b.pool.SetPatience(time.Second)
	s := b.slot(t)
	for _, end := range []func() error{
		func() error { _, err := s.Restore(ctx, b.base); return err },
		func() error { return s.Reset(ctx, b.base) },
	} {
		write(t, filepath.Join(s.Dir(), ".gitattributes"), strings.Repeat("**/a/", 12)+"b text\n")
		write(t, filepath.Join(s.Dir(), file), "g\n") // of the same size, so that git reads it
		require.NoError(t, end())
		requireSameFiles(t, b.user, s.Dir())
	}
}
