package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights that a rule on a file, not a directory, can carry.
const fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
	unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_READ_FILE

// devices are the harmless device files that programs expect to write. Terminals and shared memory are left out: they
// belong to other processes as well.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// landlockABI returns the kernel's version of Landlock, or 0 and why there is none.
func landlockABI() (int, string) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errors.Is(errno, unix.ENOSYS):
		return 0, "this kernel has no Landlock (it came with Linux 5.13)"
	case errors.Is(errno, unix.EOPNOTSUPP):
		return 0, "Landlock is switched off on this machine (kernel parameter lsm=)"
	case errno != 0:
		return 0, fmt.Sprintf("Landlock cannot be used: %v", errno)
	}
	return int(abi), ""
}

// writeRights are the ways to change a file system that this version can deny. Version 1 always denies moving files
// between directories; from 2 on that is a right.
func writeRights(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// ruleset is a Landlock ruleset that no thread is bound by yet.
type ruleset struct {
	fd     int
	rights uint64
}

func newRuleset(writable []string) (*ruleset, error) {
	abi, why := landlockABI()
	if abi == 0 {
		return nil, errors.New(why)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: writeRights(abi)}
	dirs, except := whatIsHidden()
	if len(dirs) > 0 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_READ_FILE
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// An older kernel takes a longer struct as long as what it does not know is zero.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0) //nolint:gosec // the kernel's interface
	if errno != 0 {
		return nil, fmt.Errorf("create a landlock ruleset: %w", errno)
	}
	r := &ruleset{fd: int(fd), rights: attr.Handled_access_fs}
	if err := r.allowAll(writable); err != nil {
		r.close()
		return nil, err
	}
	if len(dirs) > 0 {
		r.allowReading(dirs, except)
	}
	return r, nil
}

func (r *ruleset) close() { _ = unix.Close(r.fd) } // nothing is buffered behind it

func (r *ruleset) allowAll(writable []string) error {
	for _, path := range writable {
		if err := r.allow(path); err != nil {
			return fmt.Errorf("allow writing below %s: %w", path, err)
		}
	}
	for _, path := range devices {
		if err := r.allow(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("allow writing %s: %w", path, err)
		}
	}
	return nil
}

func (r *ruleset) allow(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // a path handle
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	rights := r.rights
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		rights &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	case unix.S_IFLNK:
		return fmt.Errorf("%w: it is a symbolic link", ErrInvalid)
	default:
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // the kernel's interface
	if errno != 0 {
		return errno
	}
	return nil
}

// restrictThread binds the calling thread, and whatever it starts, for ever.
func (r *ruleset) restrictThread() error {
	if err := noNewPrivileges(); err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("confine the command: %w", errno)
	}
	return nil
}

// noNewPrivileges takes from the calling thread, and what it starts, the way to gain rights by set-user-id programs, and
// from root most of what root may do.
func noNewPrivileges() error {
	dropCapabilities()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	return nil
}

func mainThread() bool { return unix.Gettid() == os.Getpid() }
