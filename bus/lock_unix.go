//go:build unix && !solaris && !aix

package bus

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func flock(f *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return errLocked
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func unflock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
