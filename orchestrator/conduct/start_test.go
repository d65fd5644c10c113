package conduct

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

func TestRunsOfTheSameMomentHaveTheirOwnDirectories(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 15, 0, 999_999_999, time.UTC)
	dir, ids := store.Dir{Path: t.TempDir()}, map[string]bool{}
	begin := func() (*Half, error) {
		h := &Half{Place: depot.Place{Dir: dir}, Spec: run.Spec{Created: at}}
		h.name(at)
		return h, h.makeDir()
	}
	_, err := begin()
	require.ErrorIs(t, err, os.ErrNotExist, "another failure is no reason for another id")
	require.NoError(t, os.MkdirAll(dir.Runs(), 0o700))
	for range idTries {
		h, err := begin()
		require.NoError(t, err)
		require.DirExists(t, h.Path)
		require.Equal(t, filepath.Join(dir.Run(h.Spec.Run), depot.OutputsDir), h.Spec.Outputs)
		ids[h.Spec.Run] = true
	}
	require.Len(t, ids, idTries)
	_, err = begin()
	require.ErrorIs(t, err, os.ErrExist)
}
