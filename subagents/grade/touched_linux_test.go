package grade_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/grade"
)

// What gives a process the content of a file counts, also without an opening of it by its name.
func TestFilesThatACommandMayKnow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"left", "linked", "moved", "read", "run"}
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/true\n"), 0o755))
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	end := grade.Touched(dir, names)
	_, err := os.ReadFile(in("read"))
	require.NoError(t, err)
	require.NoError(t, os.Link(in("linked"), in("other")))
	require.NoError(t, os.Rename(in("moved"), in("there")))
	_, err = os.Stat(in("left"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in("new"), nil, 0o600))
	run, err := os.StartProcess(in("run"), []string{"run"}, &os.ProcAttr{})
	require.NoError(t, err)
	_, err = run.Wait()
	require.NoError(t, err)
	touched, lack := end()
	require.Empty(t, lack)
	require.Equal(t, []string{"linked", "moved", "read", "run"}, touched)

	touched, lack = grade.Touched(dir, []string{"left", "gone"})()
	require.Contains(t, lack, "inotify")
	require.Empty(t, touched)
}
