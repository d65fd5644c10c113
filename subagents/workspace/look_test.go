package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/subagents/workspace"
)

// A git that inspects a shared tree cannot follow a link out of it, even where it does not know that there is one.
func TestGitFollowsNoLinkOutOfASharedTree(t *testing.T) {
	t.Parallel()
	if !sandbox.Probe().Confined() {
		t.Skip("commands cannot be confined here")
	}
	secret := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(secret, "id_rsa"), []byte("TOP-SECRET"), 0o600))
	s := newBundle(t, map[string]string{"own": "own\n"}).slot(t)
	require.NoError(t, os.Symlink(secret, filepath.Join(s.Dir(), "l")))
	reads := func(file string) error {
		_, err := workspace.Look(s, t.Context(), "", "hash-object", "-w", file)
		return err
	}
	require.NoError(t, reads("l/id_rsa"), "this git follows links, else the test would prove nothing")
	s.Share()
	require.Error(t, reads("l/id_rsa"))
	require.NoError(t, reads("own"))
}

// What is collected of a shared tree is what is collected of any other.
func TestASharedTreeIsCollectedLikeAnyOther(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", "gone.txt": "x\n", "sub/b.txt": "b\n", ".gitignore": "*.o\n"})
	var trees, diffs []string
	var files [][]string
	for _, shared := range []bool{false, true} {
		s := b.slot(t)
		if shared {
			s.Share()
		}
		write(t, filepath.Join(s.Dir(), "a.txt"), "changed\n")
		write(t, filepath.Join(s.Dir(), "sub/new name.txt"), "new\n")
		write(t, filepath.Join(s.Dir(), "sub/x.o"), "ignored\n")
		require.NoError(t, os.Remove(filepath.Join(s.Dir(), "gone.txt")))
		require.NoError(t, os.Symlink("a.txt", filepath.Join(s.Dir(), "link")))
		require.NoError(t, os.Chmod(filepath.Join(s.Dir(), "sub/b.txt"), 0o755))
		require.NoError(t, os.Chmod(filepath.Join(s.Dir(), "sub/new name.txt"), 0))
		p, pack, err := s.Collect(t.Context(), b.base, "change", author, noon)
		require.NoError(t, err)
		require.NotEmpty(t, pack)
		text, _, err := s.Diff(t.Context(), b.base, 1<<20)
		require.NoError(t, err)
		list, err := s.Files(t.Context())
		require.NoError(t, err)
		trees, diffs, files = append(trees, p.Tree), append(diffs, text), append(files, list)
		require.Equal(t, []string{"a.txt", "gone.txt", "link", "sub/b.txt", "sub/new name.txt"}, p.Files)
		require.NoError(t, s.Reset(t.Context(), b.base))
	}
	require.Equal(t, trees[0], trees[1])
	require.Equal(t, diffs[0], diffs[1])
	require.ElementsMatch(t, files[0], files[1])
}
