package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/subagents/workspace"
)

func TestSlowResetMakesTheTreeExact(t *testing.T) {
	t.Parallel()
	for _, more := range []int{0, 200} {
		t.Run(strconv.Itoa(more), func(t *testing.T) {
			t.Parallel()
			resetsExactly(t, more)
		})
	}
}

// withDirs adds a file in each of so many directories: of a large tree only the directories that have changed are listed.
func withDirs(files map[string]string, more int) map[string]string {
	for i := range more {
		files[fmt.Sprintf("more/%03d/x.txt", i)] = "x\n"
	}
	return files
}

// settled resets a slot until nothing in it is too new to be told from what changes next.
func settled(t *testing.T, s *workspace.Slot, commit string) {
	t.Helper()
	require.NoError(t, s.Reset(t.Context(), commit))
	for runtime.GOOS == "linux" && len(workspace.Touched(s)) > 0 {
		require.NoError(t, s.Reset(t.Context(), commit))
	}
}

func resetsExactly(t *testing.T, more int) {
	files := withDirs(map[string]string{
		"a.txt": "a\n", "dir/b.txt": "b\n", "dir/deep/c.txt": "c\n", "d": "d\n", ".gitignore": "*.log\ncache/\n",
	}, more)
	b := newBundle(t, files)
	s := b.slot(t)
	outside, canaries := t.TempDir(), newCanaries(t)
	write(t, filepath.Join(outside, "b.txt"), "outside\n")
	for name, mess := range map[string]func(dir string){
		"edited":    func(dir string) { write(t, filepath.Join(dir, "a.txt"), "X") },
		"untracked": func(dir string) { write(t, filepath.Join(dir, "new/x"), "x") },
		"ignored":   func(dir string) { write(t, filepath.Join(dir, "cache/x.log"), "x") },
		"deleted":   func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "dir"))) },
		"nested":    func(dir string) { userGit(t, dir, "init", "-q", "nested") },
		"planted":   func(dir string) { userGit(t, dir, "init", "-q", "dir/deep") },
		"a commit": func(dir string) {
			write(t, filepath.Join(dir, "a.txt"), "Y")
			userGit(t, dir, "commit", "-q", "-a", "-m", "mine")
			userGit(t, dir, "config", "core.fsmonitor", "touch "+filepath.Join(outside, "ran"))
		},
		"a .git file at the top": func(dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git")))
			write(t, filepath.Join(dir, ".git"), "gitdir: "+outside+"\n")
		},
		"a link for .git": func(dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git")))
			require.NoError(t, os.Symlink(outside, filepath.Join(dir, ".git")))
		},
		"a pipe for .git": func(dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git")))
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, ".git"), 0o600))
		},
		"links within .git": func(dir string) {
			for _, name := range []string{"refs", "objects", "info"} {
				require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git", name)))
				require.NoError(t, os.Symlink(outside, filepath.Join(dir, ".git", name)))
			}
		},
		"no .git": func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git"))) },
		"a .git that may not be written": func(dir string) {
			deep := filepath.Join(dir, ".git", "a", strings.Repeat("/d", 300))
			require.NoError(t, os.MkdirAll(deep, 0o755))
			write(t, filepath.Join(deep, "x"), "x")
			for up := deep; up != dir; up = filepath.Dir(up) {
				require.NoError(t, os.Chmod(up, 0o500))
			}
		},
		"a sparse .git of 2 GB": func(dir string) {
			write(t, filepath.Join(dir, ".git", "objects", "pack", "tmp_pack"), "")
			require.NoError(t, os.Truncate(filepath.Join(dir, ".git", "objects", "pack", "tmp_pack"), 2<<30))
		},
		"alternates in a circle": func(dir string) {
			write(t, filepath.Join(dir, ".git", "objects/info/alternates"), "../a\n"+outside+"\n")
			write(t, filepath.Join(dir, ".git", "a/info/alternates"), "../objects\n")
			write(t, filepath.Join(dir, ".git", "commondir"), outside+"\n")
		},
		"HEAD elsewhere": func(dir string) {
			write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/../../../"+outside+"/b.txt\n")
			write(t, filepath.Join(dir, ".git", "config.worktree"), "[core]\n\tworktree = "+outside+"\n")
			write(t, filepath.Join(dir, ".git", "index.lock"), "")
		},
		"a program of its own": func(dir string) {
			canaries.plant(filepath.Join(dir, ".git"), "tree")
			userGit(t, dir, "config", "core.hooksPath", filepath.Join(dir, ".git", "hooks"))
			require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git", "index")))
		},
		"a .git file": func(dir string) {
			write(t, filepath.Join(dir, "dir/.git"), "gitdir: /elsewhere\n")
		},
		"file to directory": func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "d")))
			write(t, filepath.Join(dir, "d/e"), "e")
		},
		"directory to link": func(dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "dir")))
			require.NoError(t, os.Symlink(outside, filepath.Join(dir, "dir")))
		},
		"modes": func(dir string) {
			require.NoError(t, os.Chmod(filepath.Join(dir, "a.txt"), 0o755))
			require.NoError(t, os.Chmod(filepath.Join(dir, "dir"), 0o500))
		},
		"the whole tree": func(dir string) { require.NoError(t, os.RemoveAll(dir)) },
		"a link for the tree": func(dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.Symlink(outside, dir))
		},
		"replaced by a file of the same size and time": func(dir string) {
			info, err := os.Stat(filepath.Join(dir, "dir/deep/c.txt"))
			require.NoError(t, err)
			write(t, filepath.Join(dir, "dir/new"), "C\n")
			require.NoError(t, os.Chtimes(filepath.Join(dir, "dir/new"), info.ModTime(), info.ModTime()))
			require.NoError(t, os.Rename(filepath.Join(dir, "dir/new"), filepath.Join(dir, "dir/deep/c.txt")))
		},
		"directories renamed": func(dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, "dir/deep"), filepath.Join(dir, "deep")))
			write(t, filepath.Join(dir, "deep/x.log"), "ignored")
		},
		"empty directories": func(dir string) { require.NoError(t, os.MkdirAll(filepath.Join(dir, "dir/deep/e/f"), 0o755)) },
		"ignored in a directory whose time was set back": func(dir string) {
			info, err := os.Stat(filepath.Join(dir, "dir/deep"))
			require.NoError(t, err)
			write(t, filepath.Join(dir, "dir/deep/x.log"), "ignored")
			require.NoError(t, os.Chtimes(filepath.Join(dir, "dir/deep"), info.ModTime(), info.ModTime()))
		},
		"a stale lock": func(string) { write(t, filepath.Join(s.GitDir(), "index.lock"), "") },
		"no repository": func(string) {
			require.NoError(t, os.RemoveAll(s.GitDir()))
		},
	} {
		if more > 0 {
			settled(t, s, b.base)
		}
		mess(s.Dir())
		require.NoError(t, s.Reset(t.Context(), b.base), name)
		require.Equal(t, files, contents(t, s.Dir()), name)
		require.Empty(t, canaries.ran(), name)
		require.Equal(t, b.base+" main", userGit(t, s.Dir(), "for-each-ref", "--format=%(objectname) %(refname:short)", "refs/heads"), name)
		require.Empty(t, userGit(t, s.Dir(), "status", "--porcelain", "--ignored"), name)
		require.NotContains(t, userGit(t, s.Dir(), "config", "--local", "--list"), "fsmonitor", name)
		info, err := os.Stat(filepath.Join(s.Dir(), "dir"))
		require.NoError(t, err)
		require.EqualValues(t, 0o700, info.Mode().Perm()&0o700, name)
		require.Equal(t, map[string]string{"b.txt": "outside\n"}, contents(t, outside), name)
	}
}

// contents are all files of a tree; empty directories and links fail the test.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && path == filepath.Join(dir, ".git") {
			return filepath.SkipDir
		}
		if err == nil && d.IsDir() {
			entries, err := os.ReadDir(path)
			require.NotEmpty(t, entries, "%s is empty", path)
			return err
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		require.True(t, d.Type().IsRegular(), "%s is %s", rel, d.Type())
		files[rel] = read(t, path)
		return nil
	}))
	return files
}

func TestResetToAPatch(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), "n.txt"), "n\n")
	p, pack, err := s.Collect(t.Context(), b.base, "add n", author, noon)
	require.NoError(t, err)
	tester := b.slot(t)
	require.Error(t, tester.Reset(t.Context(), p.Commit), "the patch is not in the mirror yet")
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	require.NoError(t, tester.Reset(t.Context(), p.Commit))
	require.Equal(t, map[string]string{"a.txt": "a\n", "n.txt": "n\n"}, contents(t, tester.Dir()))
	tree, err := tester.Tree(t.Context())
	require.NoError(t, err)
	require.Equal(t, p.Tree, tree)
	require.ErrorIs(t, tester.Reset(t.Context(), "HEAD"), git.ErrBadName)
}

// A used slot is brought to another commit by what differs: files become directories and the reverse, modes change, and
// directories that are empty then go.
func TestAUsedSlotMovesToAnotherCommit(t *testing.T) {
	t.Parallel()
	for _, more := range []int{0, 200} {
		t.Run(strconv.Itoa(more), func(t *testing.T) {
			t.Parallel()
			files := withDirs(map[string]string{
				"a.txt": "a\n", "e/f/g.txt": "g\n", "d": "d\n", "run.sh": "#!/bin/sh\n", "gone/deep/x": "x\n",
			}, more)
			b := newBundle(t, files)
			s, other := b.slot(t), b.slot(t)
			settled(t, s, b.base)
			settled(t, other, b.base)
			require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "e")))
			require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "gone")))
			require.NoError(t, os.Remove(filepath.Join(s.Dir(), "d")))
			require.NoError(t, os.Chmod(filepath.Join(s.Dir(), "run.sh"), 0o755))
			for name, text := range map[string]string{"a.txt": "A\n", "e": "e\n", "d/in": "in\n", "new dir/ü.txt": "new\n"} {
				write(t, filepath.Join(s.Dir(), name), text)
			}
			p, pack, err := s.Collect(t.Context(), b.base, "change", author, noon)
			require.NoError(t, err)
			require.NoError(t, b.mirror.Import(t.Context(), pack))
			after := withDirs(map[string]string{
				"a.txt": "A\n", "e": "e\n", "d/in": "in\n", "new dir/ü.txt": "new\n", "run.sh": "#!/bin/sh\n",
			}, more)
			for _, slot := range []*workspace.Slot{s, other, s} {
				require.NoError(t, slot.Reset(t.Context(), b.base))
				require.Equal(t, files, contents(t, slot.Dir()))
				require.NoError(t, slot.Reset(t.Context(), p.Commit))
				require.Equal(t, after, contents(t, slot.Dir()))
				info, err := os.Stat(filepath.Join(slot.Dir(), "run.sh"))
				require.NoError(t, err)
				require.EqualValues(t, 0o100, info.Mode()&0o100)
				tree, err := slot.Tree(t.Context())
				require.NoError(t, err)
				require.Equal(t, p.Tree, tree)
			}
		})
	}
}

func TestPoolLendsEachSlotOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	one, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	two, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, one.Dir(), two.Dir())
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	_, err = b.pool.Acquire(ctx)
	require.ErrorIs(t, err, stop)
	b.pool.Release(one)
	b.pool.Release(one)
	again, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	require.Equal(t, one.Name(), again.Name())
	_, err = b.pool.Acquire(ctx)
	require.ErrorIs(t, err, stop, "released twice is free once")
	_, err = again.Tree(t.Context())
	require.ErrorIs(t, err, workspace.ErrNotReset)
	_, _, err = again.Collect(t.Context(), b.base, "x", author, noon)
	require.ErrorIs(t, err, workspace.ErrNotReset)
}

func TestCancelledResetIsMadeGood(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	s := b.slot(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Reset(ctx, b.base), context.Canceled)
	require.NoError(t, s.Reset(t.Context(), b.base))
	require.Equal(t, map[string]string{"a.txt": "a\n"}, contents(t, s.Dir()))
}

// What a gate hides from git is not there for the next gate: a .gitignore that ignores itself, a repository, a place of a
// submodule, and what cannot be read. What the commit ignores is.
func TestRestoreFindsWhatIsHidden(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{".gitignore": "out/\n", "pkg/a.go": "a", "check.txt": "ok\n"})
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), "out/built"), "kept")
	changed, err := s.Restore(t.Context(), b.base)
	require.NoError(t, err)
	require.Empty(t, changed)

	for name, text := range map[string]string{
		"pkg/.gitignore": "*\n", "pkg/b.go": "forged", "new/.gitignore": "*", "new/config.toml": "forged",
		".git/config": "forged", "pkg/.git/HEAD": "forged",
	} {
		write(t, filepath.Join(s.Dir(), name), text)
	}
	changed, err = s.Restore(t.Context(), b.base)
	require.NoError(t, err)
	require.Empty(t, changed, "git shows nothing of it")
	require.NotContains(t, read(t, filepath.Join(s.Dir(), ".git/config")), "forged")
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), ".git")))
	require.Equal(t, []string{".gitignore", "check.txt", "out/built", "pkg/a.go"}, filesIn(t, s.Dir()))

	write(t, filepath.Join(s.Dir(), "check.txt"), "no\n")
	require.NoError(t, os.Chmod(filepath.Join(s.Dir(), "pkg"), 0))
	deep := strings.Repeat("d/", 300)
	require.NoError(t, os.MkdirAll(filepath.Join(s.Dir(), deep), 0o755))
	_, err = s.Restore(t.Context(), b.base)
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(s.Dir(), "check.txt"))
	require.NoError(t, err)
	require.Equal(t, "ok\n", string(data))
	require.Contains(t, filesIn(t, s.Dir()), "pkg/a.go")
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}))
	return names
}

// In a large tree too, where only the directories that have changed are listed.
func TestRestoreFindsWhatIsHiddenInALargeTree(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withDirs(map[string]string{".gitignore": "out/\n"}, 200))
	s := b.slot(t)
	settled(t, s, b.base)
	before := filesIn(t, s.Dir())
	for _, name := range []string{"003/.gitignore", "003/y", "004/.git/HEAD", "005/new/.gitignore", "005/new/y", "006/out/built"} {
		write(t, filepath.Join(s.Dir(), "more", name), "*\n")
	}
	changed, err := s.Restore(t.Context(), b.base)
	require.NoError(t, err)
	require.Empty(t, changed, "git shows nothing of it")
	require.ElementsMatch(t, append(before, "more/006/out/built"), filesIn(t, s.Dir()))
	write(t, filepath.Join(s.Dir(), "more/007/x.txt"), "no\n")
	changed, err = s.Restore(t.Context(), b.base)
	require.NoError(t, err)
	require.Equal(t, []string{"more/007/x.txt"}, changed)
	require.NoError(t, s.Reset(t.Context(), b.base))
	require.Equal(t, before, filesIn(t, s.Dir()))
}
