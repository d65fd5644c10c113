package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A tree whose names are so long that no path leads to its depth is deep: removing it must not hold a descriptor for each level.
func TestATreeTooDeepForAPathIsDeep(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	root, err := os.OpenRoot(top)
	require.NoError(t, err)
	name := strings.Repeat("d", 250)
	for range maxDescriptors / 2 {
		require.NoError(t, root.Mkdir(name, 0o700))
		next, err := root.OpenRoot(name)
		require.NoError(t, err)
		require.NoError(t, root.Close())
		root = next
	}
	require.NoError(t, root.Close())
	require.True(t, deeper(top, maxDescriptors))
	require.NoError(t, Remove(top))
	require.NoDirExists(t, top)
}

// What a link leads to is not even listed: it may be the whole machine.
func TestALinkIsRemovedUnseen(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(target, "a", "b"), 0o700))
	link := filepath.Join(t.TempDir(), ".git")
	require.NoError(t, os.Symlink(target, link))
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(watch)) })
	_, err = unix.InotifyAddWatch(watch, target, unix.IN_OPEN|unix.IN_ACCESS)
	require.NoError(t, err)
	require.NoError(t, Remove(link))
	_, err = unix.Read(watch, make([]byte, 4096))
	require.ErrorIs(t, err, unix.EAGAIN, "a process opened it")
	require.NoFileExists(t, link)
	require.DirExists(t, filepath.Join(target, "a", "b"))
}
