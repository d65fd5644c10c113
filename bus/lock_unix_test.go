//go:build unix && !solaris && !aix

package bus

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that is being started has all open files of this process, until it begins.
func TestAProgramThatIsBeingStartedOwnsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := awaitLock(t.Context(), filepath.Join(dir, lockName))
	require.NoError(t, err)
	inherited, err := syscall.Dup(int(lock.file.Fd()))
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Close(inherited)) }()
	require.True(t, Locked(dir))
	require.NoError(t, lock.release())
	require.False(t, Locked(dir))
}
