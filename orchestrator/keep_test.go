package orchestrator

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/orchestrator/store"
	"divisi/subagents/workspace"
)

// A kill leaves work trees. Those of a run that a process holds stay, and those of a worker for another machine's runs.
func TestWorkTreesOfKilledRunsAreRemoved(t *testing.T) {
	t.Parallel()
	p := &place{dir: store.Dir{Path: t.TempDir()}}
	var err error
	p.trash, err = workspace.OpenTrash(p.dir.Trash(), zerolog.Nop())
	require.NoError(t, err)
	for _, id := range []string{"killed", "held", "elsewhere"} {
		require.NoError(t, os.MkdirAll(filepath.Join(p.dir.Run(id), slotsDir, "slot1"), 0o700))
		require.NoError(t, os.MkdirAll(filepath.Join(p.dir.Run(id), "tmp"), 0o700))
		require.NoError(t, os.MkdirAll(p.dir.Bus(id), 0o700))
	}
	for _, id := range []string{"killed", "held"} {
		require.NoError(t, os.MkdirAll(filepath.Join(p.dir.Bus(id), "jetstream"), 0o700))
	}
	release, err := bus.Lock(p.dir.Bus("held"))
	require.NoError(t, err)
	require.NoError(t, p.sweepKilled())
	require.NoDirExists(t, filepath.Join(p.dir.Run("killed"), slotsDir))
	require.NoDirExists(t, filepath.Join(p.dir.Run("killed"), "tmp"))
	require.DirExists(t, filepath.Join(p.dir.Run("held"), slotsDir))
	require.DirExists(t, filepath.Join(p.dir.Run("elsewhere"), slotsDir))
	require.NoError(t, release())
	require.True(t, p.trash.Close(time.Minute, func() {}))
}
