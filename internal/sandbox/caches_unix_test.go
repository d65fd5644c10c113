//go:build unix && !solaris && !aix

package sandbox

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that is being started has all open files of this process, until it begins.
func TestAProgramThatIsBeingStartedHoldsNoLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := TryLock(path)
	require.NoError(t, err)
	inherited, err := syscall.Dup(int(lock.Fd()))
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Close(inherited)) }()
	held, err := TryLock(path)
	require.NoError(t, err)
	require.Nil(t, held)
	require.NoError(t, lock.Close())
	lock, err = TryLock(path)
	require.NoError(t, err)
	require.NotNil(t, lock, "it was dropped")
	require.NoError(t, lock.Close())
}
