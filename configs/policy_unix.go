//go:build unix

package configs

import (
	"fmt"
	"os"
	"syscall"
)

// ownerAlone refuses a file that another user owns, can read or can change.
func ownerAlone(info os.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("other users can read or change it (mode %04o): chmod 600", info.Mode().Perm())
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("another user (%d) owns it", s.Uid)
	}
	return nil
}
