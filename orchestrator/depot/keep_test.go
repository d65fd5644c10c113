package depot

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
	p := &Place{Dir: store.Dir{Path: t.TempDir()}}
	var err error
	p.Trash, err = workspace.OpenTrash(p.Dir.Trash(), zerolog.Nop())
	require.NoError(t, err)
	for _, id := range []string{"killed", "held", "elsewhere"} {
		require.NoError(t, os.MkdirAll(filepath.Join(p.Dir.Run(id), SlotsDir, "slot1"), 0o700))
		require.NoError(t, os.MkdirAll(filepath.Join(p.Dir.Run(id), "tmp"), 0o700))
		require.NoError(t, os.MkdirAll(p.Dir.Bus(id), 0o700))
	}
	for _, id := range []string{"killed", "held"} {
		require.NoError(t, os.MkdirAll(filepath.Join(p.Dir.Bus(id), "jetstream"), 0o700))
	}
	release, err := bus.Lock(p.Dir.Bus("held"))
	require.NoError(t, err)
	require.NoError(t, p.sweepKilled())
	require.NoDirExists(t, filepath.Join(p.Dir.Run("killed"), SlotsDir))
	require.NoDirExists(t, filepath.Join(p.Dir.Run("killed"), "tmp"))
	require.DirExists(t, filepath.Join(p.Dir.Run("held"), SlotsDir))
	require.DirExists(t, filepath.Join(p.Dir.Run("elsewhere"), SlotsDir))
	require.NoError(t, release())
	require.True(t, p.Trash.Close(time.Minute, func() {}))
}
