package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allowReading opens everything for reading but what is hidden. Landlock knows permissions only: so each entry of the
// directories above a hidden one is permitted, except those that lead to it. What cannot be permitted stays closed.
func (r *ruleset) allowReading(dirs, except []string) {
	r.allowAround(string(filepath.Separator), dirs)
	for _, path := range except {
		r.allowRead(path)
	}
}

func (r *ruleset) allowAround(dir string, dirs []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		switch path := filepath.Join(dir, e.Name()); {
		case slices.Contains(dirs, path):
		case above(path, dirs):
			r.allowAround(path, dirs)
		case e.Type()&os.ModeSymlink == 0:
			r.allowRead(path)
		}
	}
}

func (r *ruleset) allowRead(path string) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd) // a path handle
	rule := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_READ_FILE, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // the kernel's interface
	_ = errno // what cannot be permitted stays closed
}
