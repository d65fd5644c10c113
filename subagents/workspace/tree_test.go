package workspace_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/subagents/workspace"
)

// byAdd makes the tree of a directory with git alone, on what a commit has.
func (b *bundle) byAdd(t testing.TB, own, dir, commit string) string {
	t.Helper()
	if _, err := os.Lstat(own); err != nil {
		_, err := b.git.Borrow(own, b.mirror)
		require.NoError(t, err)
	}
	for _, args := range [][]string{{"read-tree", commit}, {"add", "-A"}} {
		userGit(t, dir, append([]string{"--git-dir", own, "--work-tree", dir}, args...)...)
	}
	return userGit(t, dir, "--git-dir", own, "write-tree")
}

// onDisk lists all that a work tree has but its directories.
func onDisk(t testing.TB, dir string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && name == filepath.Join(dir, ".git") {
			return filepath.SkipDir // what commands have there is no file of the tree
		}
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	}))
	return files
}

// clearWay makes room for a file: what is in the place of its directories goes.
func clearWay(t testing.TB, dir, name string) string {
	t.Helper()
	for i, c := range name {
		if up := filepath.Join(dir, name[:i]); c == '/' {
			if info, err := os.Lstat(up); err == nil && !info.IsDir() {
				require.NoError(t, os.Remove(up))
			}
		}
	}
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	return path
}

// change does one thing to a work tree.
func change(t testing.TB, dir, name, what, content string) {
	t.Helper()
	path := clearWay(t, dir, name)
	info, err := os.Lstat(path)
	regular := err == nil && info.Mode().IsRegular()
	switch what {
	case "write", "run", "link", "directory", "remove":
		require.NoError(t, os.RemoveAll(path))
	}
	switch what {
	case "write":
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	case "run":
		require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
	case "link":
		require.NoError(t, os.Symlink(content, path))
	case "directory":
		require.NoError(t, os.Mkdir(path, 0o755))
	case "mode":
		if regular {
			require.NoError(t, os.Chmod(path, info.Mode().Perm()^0o111))
		}
	case "sly": // the same size at the same time
		if regular {
			require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("y"), int(info.Size())), 0o644))
			require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		}
	}
}

// TestSlowTreeIsGits compares with git add, over changes of all kinds and several looks at a work tree. Then the next reset sets all
// right, from whatever the slot remembers.
func TestSlowTreeIsGits(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{
		"a.txt": "a\n", "d/e/f": "f\n", "d/e/g": "g\n", "d/h": "h\n", "d.x": "x\n", "same/e/f": "f\n", "same/h": "h\n", "-x": "x\n",
		".gitignore": "*.log\nbuild/\n", "kept.log": "k\n",
	})
	require.NoError(t, os.Chmod(filepath.Join(b.user, "d/h"), 0o755))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(b.user, "l")))
	userGit(t, b.user, "add", "-A", "-f")
	userGit(t, b.user, "commit", "-q", "-m", "second")
	b = mirrorOf(t, b.user)
	long := strings.Repeat("n", 100) + "/" + strings.Repeat("m", 200)
	plain := []string{
		"a.txt", "d", "d/e", "d/e/f", "d/e/g", "d/h", "d.x", "same", "same/h", "l", "l/x", "-x", "new/deep/er", "z.log", "build/o", "sp ace", "--help", long,
	}
	odd := []string{"ü", "x~", "d/.gitattributes"}
	contents := []string{"", "a\n", "h\n", "crlf\r\n$Id$\n", "*.txt text ident\n", "*.txt\n"}
	targets := []string{"same", "../same", "a.txt", "/etc", "gone"}
	whats := []string{"write", "write", "run", "link", "directory", "remove", "mode", "sly"}
	s, own := b.slot(t), filepath.Join(t.TempDir(), "own")
	last, edited, indexed := b.base, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		require.NoError(rt, s.Reset(t.Context(), b.base))
		var p *spec.Patch
		var pack []byte
		names := [][]string{
			// The index that git writes forgets what was tracked, and what was not ignored, at an earlier look.
			slices.Concat(plain, []string{"kept.log"}), slices.Concat(plain, odd), slices.Concat(plain, []string{".gitignore", "d/.gitignore"}),
		}
		kind := rapid.IntRange(0, 2).Draw(rt, "kind")
		for range []int{3, 3, 1}[kind] {
			if kind == 1 {
				change(t, s.Dir(), rapid.SampledFrom(odd).Draw(rt, "odd"), "write", rapid.SampledFrom(contents).Draw(rt, "content"))
			}
			for range rapid.IntRange(0, 4).Draw(rt, "changes") {
				what, content := rapid.SampledFrom(whats).Draw(rt, "what"), rapid.SampledFrom(contents)
				if what == "link" {
					content = rapid.SampledFrom(targets)
				}
				change(t, s.Dir(), rapid.SampledFrom(names[kind]).Draw(rt, "name"), what, content.Draw(rt, "content"))
			}
			before := read(t, filepath.Join(s.GitDir(), "index"))
			var err error
			p, pack, err = s.Collect(t.Context(), b.base, "m", author, noon)
			require.NoError(rt, err)
			tree, err := s.Tree(t.Context())
			require.NoError(rt, err)
			require.Equal(rt, b.byAdd(t, own, s.Dir(), b.base), tree)
			if p != nil {
				require.Equal(rt, tree, p.Tree)
			}
			if before == read(t, filepath.Join(s.GitDir(), "index")) {
				edited++
			} else {
				indexed++
			}
		}
		to := b.base
		if p != nil {
			require.NoError(rt, b.mirror.Import(t.Context(), pack))
			if has, err := b.mirror.Has(t.Context(), p.Commit); err != nil || !has {
				rt.Fatal("the commit is not in its pack", err)
			}
			to = rapid.SampledFrom([]string{b.base, p.Commit, last}).Draw(rt, "to")
			last = p.Commit
		}
		require.NoError(rt, s.Reset(t.Context(), to))
		want, err := b.mirror.Files(t.Context(), to)
		require.NoError(rt, err)
		var files []string
		for _, e := range want {
			files = append(files, e.Path)
		}
		require.ElementsMatch(rt, files, onDisk(t, s.Dir()))
		tree, err := b.mirror.Tree(t.Context(), to)
		require.NoError(rt, err)
		require.Equal(rt, tree, b.byAdd(t, own, s.Dir(), to))
	})
	require.Positive(t, edited)
	require.True(t, indexed > 0 || testing.Short(), "a short run may draw no odd name")
}

// A file takes the place of a directory, then the directory that of the file: git refuses the index half way, and the second look
// has the removals too.
func TestTheSecondLookBeginsAnew(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", "d/e/f": "f\n", "d/e/g": "g\n"})
	s := b.slot(t)
	require.NoError(t, s.Reset(t.Context(), b.base))
	for _, step := range [][][2]string{{{"d/.gitattributes", "h\n"}}, {{"d", "h\n"}}, {{"d/e/g", "new\n"}}} {
		for _, c := range step {
			change(t, s.Dir(), c[0], "write", c[1])
		}
		p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
		require.NoError(t, err)
		require.Equal(t, b.byAdd(t, filepath.Join(t.TempDir(), "own"), s.Dir(), b.base), p.Tree)
	}
}

// Git leaves directories without a file out of the trees that it writes.
func TestTreeOfABaseWithAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", "d/b.txt": "b\n"})
	require.NoError(t, os.WriteFile(filepath.Join(b.user, "lines"), nil, 0o600))
	empty := userGit(t, b.user, "hash-object", "-t", "tree", "-w", "lines")
	tree := strings.Replace(userGit(t, b.user, "cat-file", "-p", "HEAD^{tree}"), "\n", "\n040000 tree "+empty+"\tc\n", 1)
	cmd := exec.CommandContext(t.Context(), "git", "mktree")
	cmd.Dir, cmd.Stdin = b.user, strings.NewReader(tree+"\n")
	made, err := cmd.Output()
	require.NoError(t, err)
	userGit(t, b.user, "update-ref", "HEAD", userGit(t, b.user, "commit-tree", "-m", "empty", strings.TrimSpace(string(made))))
	b = mirrorOf(t, b.user)
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), "a.txt"), "A\n")
	p, pack, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Equal(t, b.byAdd(t, filepath.Join(t.TempDir(), "own"), s.Dir(), b.base), p.Tree)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	require.NoError(t, git.CheckPatch(t.Context(), b.mirror, *p, func(string, bool) bool { return true }))
}

// A command that continues beside a look can put anything in the place of a file.
func TestReadEntryStaysInTheTree(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "f"), "secret")
	write(t, filepath.Join(dir, "f"), "f\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "f"), 0o610))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "l")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "f"), filepath.Join(dir, "to")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for path, want := range map[string][2]string{
		"f": {git.ModeFile, "f\n"}, "to": {git.ModeSymlink, filepath.Join(outside, "f")}, "f/x": {git.ModeNone, ""},
		"gone": {git.ModeNone, ""}, "gone/x": {git.ModeNone, ""}, ".": {git.ModeNone, ""},
	} {
		mode, content, err := workspace.ReadEntry(root, path)
		require.NoError(t, err, path)
		require.Equal(t, want, [2]string{mode, string(content)}, path)
	}
	for _, path := range []string{"l/f", "pipe"} {
		_, content, err := workspace.ReadEntry(root, path)
		require.Error(t, err, path)
		require.Empty(t, content, path)
	}
}

// A link that takes the place of a file while it is read is not followed to another file.
func TestReadEntryFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "other"), "other\n")
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	group, stop := errgroup.Group{}, make(chan struct{})
	group.Go(func() error {
		for {
			select {
			case <-stop:
				return nil
			default:
			}
			err := errors.Join(os.WriteFile(filepath.Join(dir, "new"), []byte("own\n"), 0o600), root.Rename("new", "f"),
				root.Symlink("other", "new"), root.Rename("new", "f"))
			if err != nil {
				return err
			}
		}
	})
	read, wrong := map[string]int{}, 0
	for i := 0; i < 1_000_000 && min(read[git.ModeFile], read[git.ModeSymlink]) < 1000; i++ {
		mode, content, err := workspace.ReadEntry(root, "f")
		if err == nil {
			read[mode]++
		}
		if err == nil && mode == git.ModeFile && string(content) != "own\n" {
			wrong++
		}
	}
	close(stop)
	require.NoError(t, group.Wait())
	require.Zero(t, wrong, read)
}
