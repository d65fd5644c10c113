package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox/stage"
)

// group makes what a delegated control group looks like, and returns its root and what tells a process where it is.
func group(t *testing.T, controllers, procs string) (root, self string) {
	t.Helper()
	root, self = t.TempDir(), filepath.Join(t.TempDir(), "cgroup")
	home := filepath.Join(root, "user.slice", "run-1.scope")
	require.NoError(t, os.MkdirAll(home, 0o700))
	require.NoError(t, write(home, "cgroup.controllers", controllers))
	require.NoError(t, write(home, "cgroup.procs", procs))
	require.NoError(t, os.WriteFile(self, []byte("1:name=systemd:/x\n0::/user.slice/run-1.scope\n"), 0o600))
	return root, self
}

func TestADelegatedGroupIsDivided(t *testing.T) {
	t.Parallel()
	root, self := group(t, "cpu io memory pids\n", "42\n")
	home := divide(root, self, 42)
	require.Equal(t, filepath.Join(root, "user.slice/run-1.scope"), home)
	require.Equal(t, "42", text(filepath.Join(home, "divisi", "cgroup.procs")))
	require.Equal(t, "+memory +pids", text(filepath.Join(home, "cgroup.subtree_control")))

	limits := stage.Limits{Memory: 1 << 30, Processes: 100}
	b, err := makeBox(filepath.Join(home, "command-x"), &limits)
	require.NoError(t, err)
	require.Zero(t, limits.Memory, "the stage need not watch")
	for name, want := range map[string]string{"memory.max": "1073741824", "pids.max": "100", "memory.oom.group": "1"} {
		require.Equal(t, want, text(filepath.Join(b.dir.Name(), name)), name)
	}
	require.False(t, b.outOfMemory())
	require.NoError(t, write(b.dir.Name(), "memory.events", "low 0\noom 1\noom_kill 0\noom_group_kill 0\n"))
	require.False(t, b.outOfMemory())
	require.NoError(t, write(b.dir.Name(), "memory.events", "low 0\noom 1\noom_kill 3\noom_group_kill 1\n"))
	require.True(t, b.outOfMemory())
	b.close()
}

func TestOtherGroupsAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, g := range map[string][2]string{
		"with a shell in it": {"memory pids", "41\n42\n"}, "without memory": {"cpu pids", "42\n"}, "another process's": {"memory pids", "43\n"},
	} {
		root, self := group(t, g[0], g[1])
		require.Empty(t, divide(root, self, 42), name)
		require.NoDirExists(t, filepath.Join(root, "user.slice/run-1.scope/divisi"), name)
	}
	require.Empty(t, divide(t.TempDir(), filepath.Join(t.TempDir(), "none"), 42))
}
