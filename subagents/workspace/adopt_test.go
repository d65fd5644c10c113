package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/subagents/workspace"
)

// taken is a clone of the base of a bundle, as a person gets it.
func taken(t *testing.T, b *bundle) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "taken")
	require.NoError(t, os.Mkdir(dir, 0o755))
	c, err := b.mirror.Clone(t.Context(), dir, "task", b.base)
	require.NoError(t, err)
	require.NoError(t, c.Lay(t.Context(), b.base, b.base))
	return dir
}

func adopt(t *testing.T, b *bundle, dir string) *workspace.Slot {
	t.Helper()
	what, err := b.git.Unfinished(t.Context(), filepath.Join(dir, ".git"))
	require.NoError(t, err)
	require.Empty(t, what)
	s, err := workspace.Adopt(t.Context(), b.mirror, dir, t.TempDir(), b.base)
	require.NoError(t, err)
	return s
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{
		"a.txt": "a\n", "b.txt": "b\r\n", "gone.txt": "x\n", ".gitignore": "*.log\n", ".gitattributes": "*.txt text eol=lf\n",
	})
	dir := taken(t, b)
	p, _, err := adopt(t, b, dir).Collect(t.Context(), b.base, "mine", author, noon)
	require.NoError(t, err)
	require.Nil(t, p, "nothing was changed")

	write(t, filepath.Join(dir, "a.txt"), "committed\n")
	userGit(t, dir, "commit", "-q", "-a", "-m", "mine")
	require.NoError(t, os.Remove(filepath.Join(dir, "gone.txt")))
	write(t, filepath.Join(dir, "new/file.txt"), "untracked\n")
	write(t, filepath.Join(dir, "out.log"), "ignored\n")
	write(t, filepath.Join(dir, "kept.log"), "ignored, but added\n")
	userGit(t, dir, "add", "-f", "kept.log")
	before := userGit(t, dir, "status", "--porcelain")
	p, pack, err := adopt(t, b, dir).Collect(t.Context(), b.base, "mine", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt", "gone.txt", "kept.log", "new/file.txt"}, p.Files)
	require.Equal(t, before, userGit(t, dir, "status", "--porcelain"), "the directory is as it was")
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	anyPath := func(string, bool) bool { return true }
	require.NoError(t, git.CheckPatch(t.Context(), b.mirror, *p, anyPath))

	s := adopt(t, b, dir)
	again, _, err := s.Collect(t.Context(), b.base, "mine", author, noon)
	require.NoError(t, err)
	require.Equal(t, p, again, "the same content is the same commit")
	require.NoError(t, s.Check(t.Context(), again, anyPath))
	var refused *git.PatchError
	err = s.Check(t.Context(), again, func(path string, _ bool) bool { return !strings.HasPrefix(path, "new/") })
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Faults, 1)
	require.Equal(t, "new/file.txt", refused.Faults[0].Path)

	userGit(t, dir, "init", "-q", "inner")
	write(t, filepath.Join(dir, "inner/x"), "x\n")
	_, _, err = adopt(t, b, dir).Collect(t.Context(), b.base, "mine", author, noon)
	var content *workspace.ContentError
	require.ErrorAs(t, err, &content)
	require.Contains(t, content.Why, "git repositories within the work tree (inner)")
}
