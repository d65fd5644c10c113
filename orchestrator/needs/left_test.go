package needs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
)

func TestNamedFilesAreNotLeftBehind(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "roles"), 0o700))
	c := &git.Checkout{Top: dir, Dirty: []string{"plan.yaml", "roles/a.md", "other.txt"}}
	require.Equal(t, c.Dirty, Left(c, []string{"", "plan.yaml"}), "one of the same name elsewhere")
	require.Equal(t, []string{"other.txt"},
		Left(c, []string{filepath.Join(dir, "roles", "..", "plan.yaml"), filepath.Join(link, "roles", "a.md")}))
}

// Git names an untracked directory by itself: it is left out where each file in it may be, at any depth.
func TestAnUntrackedDirectoryIsReadFileByFile(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	plan := filepath.Join(dir, "plans", "new", "plan.yaml")
	for _, file := range []string{plan, filepath.Join(dir, ".vscode", "mcp.json"), filepath.Join(dir, ".cursor", "mcp.json"), filepath.Join(dir, ".cursor", "rules")} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	all := []string{".mcp.json", ".vscode/", ".cursor/", "plans/", ".divisi/roles/"}
	c := &git.Checkout{Top: dir, Dirty: all, Untracked: all}
	require.Equal(t, []string{".cursor/", "plans/"}, Left(c, nil))
	require.Equal(t, []string{".cursor/"}, Left(c, []string{plan}))
	c.Untracked = nil
	require.Equal(t, []string{".mcp.json", ".vscode/", ".cursor/"}, Left(c, []string{plan}), "what git tracks is the code's")
}
