package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/subagents/workspace"
)

func TestCollect(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withDirs(map[string]string{
		"a.txt": "1\n2\n3\n", "gone.txt": "x\n", "d": "file\n", "e/f": "f\n", "same.txt": "same\n", "run.sh": "#!/bin/sh\n",
		".gitignore": "*.log\n", "crlf.txt": "a\r\nb\r\n", ".gitattributes": "*.txt text\n",
	}, 200))
	edit := func(s *workspace.Slot) {
		dir := s.Dir()
		write(t, filepath.Join(dir, "a.txt"), "1\nTWO\n3\n4\n")
		require.NoError(t, os.Remove(filepath.Join(dir, "gone.txt")))
		require.NoError(t, os.Remove(filepath.Join(dir, "d")))
		write(t, filepath.Join(dir, "d/inner"), "inner\n")
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "e")))
		write(t, filepath.Join(dir, "e"), "e\n")
		write(t, filepath.Join(dir, "new dir/ü.txt"), "new\n")
		write(t, filepath.Join(dir, "out.log"), "ignored\n")
		write(t, filepath.Join(dir, "same.txt"), "same\n")
		require.NoError(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o755))
		write(t, filepath.Join(dir, "more/000/x.log"), "ignored\n")
		write(t, filepath.Join(dir, "more/001/y.txt"), "y\n")
		write(t, filepath.Join(dir, "more/002/deep/z.txt"), "z\n")
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "more/003")))
	}
	one, two := b.slot(t), b.slot(t)
	settled(t, two, b.base)
	edit(one)
	edit(two)
	p, pack, err := one.Collect(t.Context(), b.base, "change", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{
		"a.txt", "d", "d/inner", "e", "e/f", "gone.txt", "more/001/y.txt",
		"more/002/deep/z.txt", "more/003/x.txt", "new dir/ü.txt", "run.sh",
	}, p.Files)
	require.Equal(t, 7, p.Added)
	require.Equal(t, 5, p.Deleted)
	require.Equal(t, b.base, p.Base)
	require.Empty(t, p.Pack)
	again, _, err := two.Collect(t.Context(), b.base, "change", author, noon)
	require.NoError(t, err)
	require.Equal(t, p, again, "the same content is the same commit")

	settled(t, two, b.base)
	require.NoError(t, os.RemoveAll(filepath.Join(two.Dir(), "more/003")))
	write(t, filepath.Join(two.Dir(), "more/001/y.txt"), "y\n")
	few, _, err := two.Collect(t.Context(), b.base, "below known directories", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"more/001/y.txt", "more/003/x.txt"}, few.Files)

	require.NoError(t, b.mirror.Import(t.Context(), pack))
	require.NoError(t, git.CheckPatch(t.Context(), b.mirror, *p, func(string, bool) bool { return true }))
	data, err := b.mirror.ReadFile(t.Context(), p.Commit, "d/inner", 100)
	require.NoError(t, err)
	require.Equal(t, "inner\n", string(data))
	data, err = b.mirror.ReadFile(t.Context(), p.Commit, "crlf.txt", 100)
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", string(data), "as the user's git stored it")
}

// The contents of many files are in one pack of the slot, which goes with the next reset.
func TestCollectManyFiles(t *testing.T) {
	t.Parallel()
	b := newBundle(t, fileSet(120))
	s := b.slot(t)
	for _, word := range []string{"new ", "newer "} {
		require.NoError(t, s.Reset(t.Context(), b.base))
		for name := range fileSet(120) {
			write(t, filepath.Join(s.Dir(), name), word+name+"\n")
		}
		p, pack, err := s.Collect(t.Context(), b.base, "many", author, noon)
		require.NoError(t, err)
		require.Len(t, p.Files, 120)
		require.Equal(t, 120, p.Added)
		packs, err := filepath.Glob(filepath.Join(s.GitDir(), "objects", "pack", "*.pack"))
		require.NoError(t, err)
		require.Len(t, packs, 1)
		require.NoError(t, b.mirror.Import(t.Context(), pack))
		require.NoError(t, git.CheckPatch(t.Context(), b.mirror, *p, func(string, bool) bool { return true }))
		name := p.Files[7]
		data, err := b.mirror.ReadFile(t.Context(), p.Commit, name, 100)
		require.NoError(t, err)
		require.Equal(t, word+name+"\n", string(data))
	}
	require.NoError(t, s.Reset(t.Context(), b.base))
	require.NoDirExists(t, filepath.Join(s.GitDir(), "objects", "pack"))
}

func TestCollectNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", ".gitignore": "*.log\n"})
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), "x.log"), "ignored")
	write(t, filepath.Join(s.Dir(), "a.txt"), "a\n")
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir(), "empty"), 0o755))
	p, pack, err := s.Collect(t.Context(), b.base, "nothing", author, noon)
	require.NoError(t, err)
	require.Nil(t, p)
	require.Nil(t, pack)
}

// TestNoPhantomChange has a base whose line endings contradict its attributes: no phantom change may appear.
func TestNoPhantomChange(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"win.txt": "a\r\nb\r\n", "id.c": "$Id$\n"})
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), ".gitattributes"), "*.txt text eol=lf\n*.c ident\n* filter=lfs\n")
	p, pack, err := s.Collect(t.Context(), b.base, "attributes", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{".gitattributes"}, p.Files)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	require.NoError(t, s.Reset(t.Context(), p.Commit))
	require.Equal(t, "a\r\nb\r\n", read(t, filepath.Join(s.Dir(), "win.txt")))
	require.Regexp(t, `^\$Id: [0-9a-f]{40} \$\n$`, read(t, filepath.Join(s.Dir(), "id.c")))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), "win.txt"), []byte("a\r\nb\r\n"), 0o644))
	again, _, err := s.Collect(t.Context(), p.Commit, "nothing", author, noon)
	require.NoError(t, err)
	require.Nil(t, again)
}

func TestCollectThroughLinks(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"dir/a": "a\n", "dir/b": "b\n", "other/a": "a\n"})
	s := b.slot(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "a"), "a\n")
	write(t, filepath.Join(outside, "b"), "secret\n")
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "dir")))
	require.NoError(t, os.Symlink(outside, filepath.Join(s.Dir(), "dir")))
	p, pack, err := s.Collect(t.Context(), b.base, "link", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"dir", "dir/a", "dir/b"}, p.Files, "the link, not what it leads to")
	require.NotContains(t, string(pack), "secret")
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	var refused *git.PatchError
	err = git.CheckPatch(t.Context(), b.mirror, *p, func(string, bool) bool { return true })
	require.ErrorAs(t, err, &refused)
	require.True(t, refused.Has(git.FaultMode))

	write(t, filepath.Join(s.Dir(), ".gitignore"), "dir\n")
	p, _, err = s.Collect(t.Context(), b.base, "an ignored link", author, noon)
	require.NoError(t, err)
	require.Contains(t, p.Files, "dir/b")
}

func TestCollectDoesNotFollowTheTreeItself(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a": "a\n"})
	s := b.slot(t)
	require.NoError(t, os.RemoveAll(s.Dir()))
	require.NoError(t, os.Symlink(t.TempDir(), s.Dir()))
	_, _, err := s.Collect(t.Context(), b.base, "moved", author, noon)
	require.ErrorContains(t, err, "is gone")
	require.NoError(t, s.Reset(t.Context(), b.base))
	require.Equal(t, "a\n", read(t, filepath.Join(s.Dir(), "a")))
}

func TestCollectRefusesNestedRepositories(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", ".gitignore": "cache/\n"})
	s := b.slot(t)
	userGit(t, s.Dir(), "init", "-q", "cache/ignored")
	write(t, filepath.Join(s.Dir(), "c.txt"), "c\n")
	p, _, err := s.Collect(t.Context(), b.base, "an ignored repository", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"c.txt"}, p.Files)

	userGit(t, s.Dir(), "init", "-q", "empty")
	userGit(t, s.Dir(), "init", "-q", "dir/full")
	write(t, filepath.Join(s.Dir(), "dir/full/x"), "x")
	userGit(t, filepath.Join(s.Dir(), "dir/full"), "add", "x")
	userGit(t, filepath.Join(s.Dir(), "dir/full"), "commit", "-q", "-m", "x")
	_, _, err = s.Collect(t.Context(), b.base, "nested", author, noon)
	var nested *workspace.ContentError
	require.ErrorAs(t, err, &nested)
	require.Contains(t, nested.Why, "empty")
	require.Contains(t, nested.Why, "dir/full")
	_, err = s.Tree(t.Context())
	require.ErrorAs(t, err, &nested)
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "empty")))
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "dir/full/.git")))
	p, _, err = s.Collect(t.Context(), b.base, "not nested", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"c.txt", "dir/full/x"}, p.Files)
}

func TestDiffAndTree(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	s := b.slot(t)
	base, err := b.mirror.Tree(t.Context(), b.base)
	require.NoError(t, err)
	tree, err := s.Tree(t.Context())
	require.NoError(t, err)
	require.Equal(t, base, tree)
	write(t, filepath.Join(s.Dir(), "a.txt"), "b\n")
	write(t, filepath.Join(s.Dir(), "n.txt"), strings.Repeat("n\n", 1000))
	text, cut, err := s.Diff(t.Context(), b.base, 100_000)
	require.NoError(t, err)
	require.False(t, cut)
	require.Contains(t, text, "-a\n+b\n")
	require.Contains(t, text, "+++ b/n.txt")
	text, cut, err = s.Diff(t.Context(), b.base, 200)
	require.NoError(t, err)
	require.True(t, cut)
	require.Len(t, text, 200)
	p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	tree, err = s.Tree(t.Context())
	require.NoError(t, err)
	require.Equal(t, p.Tree, tree)
}

// TestEditWithinTheSameSecond changes a file without changing its size or time.
func TestEditWithinTheSameSecond(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "aaaa\n"})
	s := b.slot(t)
	path := filepath.Join(s.Dir(), "a.txt")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("bbbb\n"), 0o644))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	p, _, err := s.Collect(t.Context(), b.base, "sly", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt"}, p.Files)
}

// An attempt that fails leaves attributes behind by which git would write the next attempt's files in another encoding.
func TestAttributesOfAnAttemptStayWithIt(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", ".gitattributes": "*.bin binary\n"})
	for _, attributes := range []string{
		"* working-tree-encoding=UTF-16\n", "[attr]text working-tree-encoding=UTF-16\n* text\n", "* eol=crlf text\n", "* -diff merge=binary\n",
	} {
		s, err := b.pool.Acquire(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Reset(t.Context(), b.base))
		write(t, filepath.Join(s.Dir(), ".gitattributes"), attributes)
		write(t, filepath.Join(s.Dir(), "sub", ".gitattributes"), attributes)
		require.NoError(t, os.Remove(filepath.Join(s.Dir(), "b.txt")))
		require.NoError(t, s.Reset(t.Context(), b.base))
		require.Equal(t, "b\n", read(t, filepath.Join(s.Dir(), "b.txt")), attributes)

		write(t, filepath.Join(s.Dir(), "a.txt"), "A\n")
		p, _, err := s.Collect(t.Context(), b.base, "next", author, noon)
		require.NoError(t, err, attributes)
		require.Equal(t, []string{"a.txt"}, p.Files)

		// Its own change is what it wrote and git takes in, and counted as such.
		require.NoError(t, s.Reset(t.Context(), b.base))
		write(t, filepath.Join(s.Dir(), ".gitattributes"), attributes)
		write(t, filepath.Join(s.Dir(), "a.txt"), "A\n")
		p, pack, err := s.Collect(t.Context(), b.base, "attributes", author, noon)
		if strings.Contains(attributes, "UTF-16") {
			var refused *workspace.ContentError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Why, "BOM is required in '.gitattributes'")
			b.pool.Release(s)
			continue
		}
		require.NoError(t, err, attributes)
		require.Equal(t, []string{".gitattributes", "a.txt"}, p.Files)
		require.Equal(t, 1+strings.Count(attributes, "\n"), p.Added)
		require.Equal(t, 2, p.Deleted)
		require.NoError(t, b.mirror.Import(t.Context(), pack))
		require.NoError(t, git.CheckPatch(t.Context(), b.mirror, *p, func(string, bool) bool { return true }))
		lying := *p
		lying.Added = 1
		var refused *git.PatchError
		require.ErrorAs(t, git.CheckPatch(t.Context(), b.mirror, lying, func(string, bool) bool { return true }), &refused)
		b.pool.Release(s)
	}
}

// What git refuses to take in is the attempt's failure, with git's message, and the slot is rebuilt.
func TestCollectWhatGitRefuses(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	s := b.slot(t)
	var refused *workspace.ContentError
	for _, shared := range []bool{false, true} {
		require.NoError(t, s.Reset(t.Context(), b.base))
		if shared {
			s.Share()
		}
		write(t, filepath.Join(s.GitDir(), "info", "attributes"), "* working-tree-encoding=UTF-16\n")
		write(t, filepath.Join(s.Dir(), "a.txt"), "A\n")
		write(t, filepath.Join(s.Dir(), "ü.txt"), "a name that git itself takes in\n")
		_, _, err := s.Collect(t.Context(), b.base, "refused", author, noon)
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Why, "BOM is required in 'a.txt'")
		require.NoError(t, s.Reset(t.Context(), b.base))
		require.NotContains(t, read(t, filepath.Join(s.GitDir(), "info", "attributes")), "UTF-16", "it is built again")
	}
	write(t, filepath.Join(s.Dir(), "ü.txt"), "a name that is not plain, and taken in\n")
	p, _, err := s.Collect(t.Context(), b.base, "not plain", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"ü.txt"}, p.Files)
	write(t, filepath.Join(s.Dir(), "git~1", "x"), "x\n")
	_, _, err = s.Collect(t.Context(), b.base, "a name of git's own", author, noon)
	require.ErrorAs(t, err, &refused, "git passes over it without a word")
	require.Contains(t, refused.Why, `"git~1/x"`)
	require.NoError(t, s.Reset(t.Context(), b.base))
	require.NoError(t, os.Truncate(filepath.Join(s.Dir(), "a.txt"), git.MaxBlob+1))
	_, _, err = s.Collect(t.Context(), b.base, "large", author, noon)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Why, "32 MiB (a.txt)")
}

// A submodule is left alone: nothing that is written there lands, or is there for the next attempt.
func TestSubmodulesAreLeftAlone(t *testing.T) {
	t.Parallel()
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	userGit(t, user, "init", "-q", "-b", "main")
	write(t, filepath.Join(user, "a.txt"), "a\n")
	userGit(t, user, "add", "a.txt")
	userGit(t, user, "commit", "-q", "-m", "first")
	userGit(t, user, "update-index", "--add", "--cacheinfo", "160000,"+userGit(t, user, "rev-parse", "HEAD")+",lib/sub")
	userGit(t, user, "commit", "-q", "-m", "submodule")
	b := mirrorOf(t, user)
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), "lib/sub/x"), "x\n")
	write(t, filepath.Join(s.Dir(), "a.txt"), "A\n")
	var refused *workspace.ContentError
	_, _, err := s.Collect(t.Context(), b.base, "into it", author, noon)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Why, "lib/sub is a submodule")

	require.NoError(t, s.Reset(t.Context(), b.base))
	require.NoFileExists(t, filepath.Join(s.Dir(), "lib/sub/x"))
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "lib")))
	write(t, filepath.Join(s.Dir(), "a.txt"), "A\n")
	p, pack, err := s.Collect(t.Context(), b.base, "beside it", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt"}, p.Files)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	require.NoError(t, git.CheckPatch(t.Context(), b.mirror, *p, func(string, bool) bool { return true }))
}

func TestAFullDiskIsNotTheFaultOfTheContent(t *testing.T) {
	t.Parallel()
	fits := func() error { return nil }
	full := func() error { return &machine.Fault{What: "no space left on device", Path: "/state"} }
	unnamed := &git.ExitError{Args: []string{"update-index"}, Code: 128, Stderr: "fatal: Unable to write new index file\n"}
	var content *workspace.ContentError
	require.ErrorAs(t, workspace.ContentErrorOf(unnamed, fits), &content)
	err := workspace.ContentErrorOf(unnamed, full)
	require.NotErrorAs(t, err, &content)
	require.Equal(t, "/state", machine.Of(err, "").Path)
	require.ErrorIs(t, err, unnamed, "git's own words stay")
	named := &git.ExitError{Args: []string{"update-index"}, Code: 128, Stderr: "fatal: write: No space left on device\n"}
	require.Equal(t, error(named), workspace.ContentErrorOf(named, full))
	require.NoError(t, workspace.ContentErrorOf(nil, full))
}

func TestCollectRefusesNamesThatNoPatchMayHold(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	for name, why := range map[string]string{
		`dir/back\slash.txt`: `no patch may hold the file "dir/back\\slash.txt": the path contains a backslash`,
		"new\nline.txt":      `no patch may hold the file "new\nline.txt": the path contains a control character`,
	} {
		s := b.slot(t)
		write(t, filepath.Join(s.Dir(), name), "x\n")
		_, _, err := s.Collect(t.Context(), b.base, "change", author, noon)
		var content *workspace.ContentError
		require.ErrorAs(t, err, &content)
		require.Contains(t, content.Why, why)
	}
}
