//go:build unix && !solaris && !aix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockCache waits until nobody else, in this process or another, makes the same cache. The file lies beside the cache, where no
// command can write.
func lockCache(root string) (unlock func(), err error) {
	f, err := os.OpenFile(root+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { _ = f.Close() }, nil // and with it the lock
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
	}
}
