package machine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A machine that cannot write where it works lacks that directory, and reports how much a full one lacks.
func TestShort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, Short(false, dir))
	require.NoError(t, Short(true, dir))
	gone := filepath.Join(dir, "gone")
	var f *Fault
	require.ErrorAs(t, Short(false, dir, gone), &f)
	require.Equal(t, gone, f.Path)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorAs(t, Short(false, file), &f)
	require.Equal(t, file, f.Path)
	require.Equal(t, "no space left on device at /d (2 KiB more are needed)", (&Fault{"no space left on device", "/d", 1500}).Error())
}
