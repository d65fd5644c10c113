//go:build unix

package configs

import (
	"fmt"
	"os"
	"syscall"
)

// ownerAlone refuses a file that another user owns, can read or can change.
func ownerAlone(info os.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("another user (%d) owns it", s.Uid)
	}
	closed := os.FileMode(0o077)
	if ok && s.Uid == 0 {
		closed = 0o037 // root has given it to the group, as Kubernetes does to that of a pod
	}
	if info.Mode().Perm()&closed != 0 {
		return fmt.Errorf("other users can read or change it (mode %04o): chmod 600", info.Mode().Perm())
	}
	return nil
}
