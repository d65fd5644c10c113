package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"divisi/internal/testkit/chantest"
)

// An overlay leaves a directory that an ordinary user owns and cannot list.
func TestATryOutLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "try")
	left := filepath.Join(dir, "0", "work", "work")
	require.NoError(t, os.MkdirAll(filepath.Join(left, "incompat", "volatile"), 0o700))
	require.NoError(t, os.Chmod(left, 0))
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		err := unix.Capset(&header, &make([]unix.CapUserData, 2)[0]) // as an ordinary user is, also where root runs the tests
		if err == nil {
			clearTry(dir)
		}
		done <- err
	}()
	require.NoError(t, chantest.Next(t, done))
	require.NoDirExists(t, dir)
}
