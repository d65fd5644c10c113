package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// plainClone clones a user's repository as a person does. Its index is younger than its files, so that git finds no file changed by
// the second in which it was written.
func plainClone(t testing.TB, user string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	userGit(t, user, "clone", "-q", user, dir)
	later := time.Now().Add(10 * time.Second)
	require.NoError(t, os.Chtimes(filepath.Join(dir, ".git", "index"), later, later))
	return dir
}

// edit writes a file of a clone at a time of its own.
func edit(t testing.TB, name, content string) {
	t.Helper()
	write(t, name, content)
	later := time.Now().Add(20 * time.Second)
	require.NoError(t, os.Chtimes(name, later, later))
}

// addAll is the tree that a person commits.
func addAll(t testing.TB, clone string) string {
	t.Helper()
	userGit(t, clone, "-c", "core.safecrlf=false", "add", "-A")
	return userGit(t, clone, "write-tree")
}

// requireSameFiles compares two work trees by path, kind, right to execute and content.
func requireSameFiles(t testing.TB, want, got string) {
	t.Helper()
	require.Equal(t, filesOf(t, want), filesOf(t, got))
}

func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, outside := filepath.Rel(dir, name)
		switch {
		case err != nil || outside != nil || d.IsDir() && d.Name() != ".git":
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			files[rel] = "link " + target
			return err
		}
		info, err := d.Info()
		files[rel] = strings.TrimLeft(info.Mode().Perm().String()[3:4], "-") + " " + read(t, name)
		return err
	}))
	return files
}
