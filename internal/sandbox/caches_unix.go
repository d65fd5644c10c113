//go:build unix && !solaris && !aix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile opens a file and locks it, shared or for one holder alone. It waits for other holders, or returns errHeld.
func lockFile(path string, shared, wait bool) (*Lock, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	if !wait {
		how |= syscall.LOCK_NB
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return &Lock{f}, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(errHeld, f.Close())
		case !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
	}
}

func (l *Lock) unlock() error { return syscall.Flock(int(l.Fd()), syscall.LOCK_UN) }
