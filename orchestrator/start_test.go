package orchestrator

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamedFilesAreNotLeftBehind(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "roles"), 0o700))
	dirty := []string{"plan.yaml", "roles/a.md", "other.txt"}
	require.Equal(t, dirty, without(dirty, dir, []string{"", "plan.yaml"}), "one of the same name elsewhere")
	require.Equal(t, []string{"other.txt"},
		without(dirty, dir, []string{filepath.Join(dir, "roles", "..", "plan.yaml"), filepath.Join(link, "roles", "a.md")}))
}
