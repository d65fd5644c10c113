//go:build unix && !solaris && !aix

package bus

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return errLocked
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
