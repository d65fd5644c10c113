package runs

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEachProcessThatResumesARunHasALogOfItsOwn(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var made []string
	for range maxResumeLogs + 2 {
		f, err := resumeLog(dir, at)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		made, at = append(made, f.Name()), at.Add(time.Millisecond)
	}
	_, err := resumeLog(dir, at.Add(-time.Millisecond))
	require.ErrorContains(t, err, "exists", "no process writes to the log of another one")
	have, err := filepath.Glob(filepath.Join(dir, "resume-*.log"))
	require.NoError(t, err)
	require.Subset(t, made, have)
	require.Equal(t, made[len(made)-1], have[len(have)-1], "the newest stay")
}
