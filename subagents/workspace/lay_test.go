package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/subagents/workspace"
)

// laidBundle is a repository with an environment: a layer at the top and one in a package, one below a directory that git does not
// know, and a single file.
func laidBundle(t *testing.T, dirs int, byCopy bool) (*bundle, *workspace.Slot, workspace.Lay) {
	t.Helper()
	b := newBundle(t, withDirs(map[string]string{
		"a.txt": "a\n", "packages/a/x.js": "x\n", "packages/b/x.js": "x\n", ".gitignore": "node_modules\nout/gen\nconfig.js\ndist\n",
	}, dirs))
	lower := t.TempDir()
	write(t, filepath.Join(lower, "top/dep/index.js"), "installed")
	write(t, filepath.Join(lower, "in-a/dep/index.js"), "installed for a")
	write(t, filepath.Join(lower, "gen/made.go"), "made")
	write(t, filepath.Join(lower, "config.js"), "config")
	write(t, filepath.Join(lower, "dist/deep/built.js"), "built")
	require.NoError(t, os.Symlink("../packages/b", filepath.Join(lower, "top/b")))
	lay := workspace.Lay{
		Copy: byCopy, Files: map[string]string{
			"config.js": filepath.Join(lower, "config.js"), "packages/b/dist": filepath.Join(lower, "dist"),
		},
		Layers: []sandbox.Layer{
			{Path: "node_modules", Lower: filepath.Join(lower, "top")},
			{Path: "packages/a/node_modules", Lower: filepath.Join(lower, "in-a")},
			{Path: "out/gen", Lower: filepath.Join(lower, "gen")},
		},
	}
	s := b.slot(t)
	s.Lay(lay)
	return b, s, lay
}

// laySettled resets a slot as settled does. Copies are made again by each reset.
func laySettled(t *testing.T, s *workspace.Slot, commit string, lay workspace.Lay) {
	t.Helper()
	if lay.Copy {
		require.NoError(t, s.Reset(t.Context(), commit))
		return
	}
	settled(t, s, commit)
}

func eachLaid(t *testing.T, test func(t *testing.T, b *bundle, s *workspace.Slot, lay workspace.Lay)) {
	t.Helper()
	for name, dirs := range map[string]int{"small": 0, "large": 200} {
		for how, byCopy := range map[string]bool{"mounted": false, "copied": true} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				b, s, lay := laidBundle(t, dirs, byCopy)
				test(t, b, s, lay)
			})
		}
	}
}

// isLaid requires that all lies in the work tree as it was laid.
func isLaid(t *testing.T, s *workspace.Slot, lay workspace.Lay) {
	t.Helper()
	for _, l := range lay.Layers {
		entries, err := os.ReadDir(filepath.Join(s.Dir(), l.Path))
		require.NoError(t, err)
		if !lay.Copy {
			require.Empty(t, entries)
			continue
		}
		require.Equal(t, tree(t, l.Lower), tree(t, filepath.Join(s.Dir(), l.Path)))
	}
	data, err := os.ReadFile(filepath.Join(s.Dir(), "config.js"))
	require.NoError(t, err)
	require.Equal(t, "config", string(data))
	require.Equal(t, tree(t, lay.Files["packages/b/dist"]), tree(t, filepath.Join(s.Dir(), "packages/b/dist")))
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.Type()&os.ModeSymlink != 0:
			found[rel], err = os.Readlink(path)
		case !d.IsDir():
			data, failed := os.ReadFile(path)
			found[rel], err = string(data), failed
		}
		return err
	}))
	return found
}

// Whatever becomes of an environment in a tree, and of the lists of ignored files, nothing of it enters a patch, and the next reset
// has it as it was.
func TestSlowNothingOfAnEnvironmentEntersAPatch(t *testing.T) {
	t.Parallel()
	eachLaid(t, func(t *testing.T, b *bundle, s *workspace.Slot, lay workspace.Lay) {
		outside := t.TempDir()
		write(t, filepath.Join(outside, "kept"), "kept")
		for name, mess := range map[string]func(dir string){
			"nothing":         func(string) {},
			"ignored no more": func(dir string) { write(t, filepath.Join(dir, ".gitignore"), "") },
			"new files": func(dir string) {
				write(t, filepath.Join(dir, ".gitignore"), "")
				write(t, filepath.Join(dir, "node_modules/new.js"), "x")
				write(t, filepath.Join(dir, "out/gen/new.go"), "x")
				write(t, filepath.Join(dir, "config.js"), "changed")
			},
			"a repository": func(dir string) {
				write(t, filepath.Join(dir, ".gitignore"), "")
				userGit(t, dir, "init", "-q", "node_modules/dep")
			},
			"a file in its place": func(dir string) {
				write(t, filepath.Join(dir, ".gitignore"), "")
				require.NoError(t, os.RemoveAll(filepath.Join(dir, "node_modules")))
				write(t, filepath.Join(dir, "node_modules"), "x")
			},
			"a link in its place": func(dir string) {
				write(t, filepath.Join(dir, ".gitignore"), "")
				require.NoError(t, os.RemoveAll(filepath.Join(dir, "node_modules")))
				require.NoError(t, os.Symlink(outside, filepath.Join(dir, "node_modules")))
			},
			"gone": func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "node_modules"))) },
			"ignores itself": func(dir string) {
				write(t, filepath.Join(dir, "node_modules/.gitignore"), "*\n")
			},
			"closed": func(dir string) { require.NoError(t, os.Chmod(filepath.Join(dir, "node_modules"), 0)) },
		} {
			laySettled(t, s, b.base, lay)
			isLaid(t, s, lay)
			write(t, filepath.Join(s.Dir(), "out/kept.txt"), "a change")
			mess(s.Dir())
			patch, _, err := s.Collect(t.Context(), b.base, "change", author, noon)
			require.NoError(t, err, name)
			require.Contains(t, patch.Files, "out/kept.txt", name)
			require.Subset(t, []string{".gitignore", "out/kept.txt"}, patch.Files, name)
			files, err := s.Files(t.Context())
			require.NoError(t, err)
			require.NotContains(t, files, "config.js", name)
			laySettled(t, s, b.base, lay)
			write(t, filepath.Join(s.Dir(), "out/kept.txt"), "a change")
			mess(s.Dir())
			_, err = s.Restore(t.Context(), b.base)
			require.NoError(t, err, name)
			require.NoFileExists(t, filepath.Join(s.Dir(), "out/kept.txt"), name)
		}
		laySettled(t, s, b.base, lay)
		isLaid(t, s, lay)
		require.Equal(t, map[string]string{"kept": "kept"}, tree(t, outside))
		s.Lay(workspace.Lay{})
		require.NoError(t, s.Reset(t.Context(), b.base))
		for _, name := range []string{"node_modules", "packages/a/node_modules", "out", "config.js"} {
			require.NoFileExists(t, filepath.Join(s.Dir(), name))
			require.NoDirExists(t, filepath.Join(s.Dir(), name))
		}
	})
}

// A change of a package that has a layer is one as any other, and so is one beside a layer below a directory that git does not know.
func TestAPackageWithALayerCanBeRenamedAndRemoved(t *testing.T) {
	t.Parallel()
	eachLaid(t, func(t *testing.T, b *bundle, s *workspace.Slot, lay workspace.Lay) {
		laySettled(t, s, b.base, lay)
		require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "packages/a/node_modules")))
		require.NoError(t, os.Rename(filepath.Join(s.Dir(), "packages/a"), filepath.Join(s.Dir(), "packages/c")))
		require.NoError(t, os.Symlink("c", filepath.Join(s.Dir(), "packages/a")))
		patch, pack, err := s.Collect(t.Context(), b.base, "change", author, noon)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"packages/a", "packages/a/x.js", "packages/c/x.js"}, patch.Files)
		require.NoError(t, b.mirror.Import(t.Context(), pack))
		laySettled(t, s, patch.Commit, lay)
		require.NoDirExists(t, filepath.Join(s.Dir(), "packages/c/node_modules"), "it was laid through a link")
		laySettled(t, s, b.base, lay)
		isLaid(t, s, lay)
	})
}

// A commit that has files in the place of a layer would be tested without them.
func TestSlowACommitWithFilesInALayerIsRefused(t *testing.T) {
	t.Parallel()
	eachLaid(t, func(t *testing.T, b *bundle, s *workspace.Slot, lay workspace.Lay) {
		s.Lay(workspace.Lay{})
		for _, name := range []string{"node_modules/forced.js", "node_modules", "packages/a/node_modules/x/y.js"} {
			require.NoError(t, s.Reset(t.Context(), b.base))
			write(t, filepath.Join(s.Dir(), ".gitignore"), "")
			write(t, filepath.Join(s.Dir(), name), "x")
			patch, pack, err := s.Collect(t.Context(), b.base, "change", author, noon)
			require.NoError(t, err)
			require.NoError(t, b.mirror.Import(t.Context(), pack))
			s.Lay(lay)
			var content *workspace.ContentError
			require.ErrorAs(t, s.Reset(t.Context(), patch.Commit), &content, name)
			require.Contains(t, content.Why, "belongs to the environment")
			laySettled(t, s, b.base, lay)
			isLaid(t, s, lay)
			s.Lay(workspace.Lay{})
		}
	})
}
