//go:build unix && !solaris && !aix

package git

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// holdDir keeps a directory until it is closed, or the process ends. It is an error where another process keeps it.
func holdDir(dir string) (io.Closer, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
