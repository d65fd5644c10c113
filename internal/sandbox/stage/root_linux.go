package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are the entries of a command's /dev, beside terminals of its own.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// below is where the new root stands while it is built. Every machine has the directory, for this program was started by it.
const below = "/proc"

// enter builds the root and makes it that of this process; the machine's own is gone afterwards.
func (r *Root) enter() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	root, err := newTmpfs(rootSize)
	if err != nil {
		return err
	}
	defer unix.Close(root) // a path handle
	if err := attach(root, below); err != nil {
		return err
	}
	if err := unix.Chdir(below); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	for _, step := range []func() error{r.makeSystem, r.mountAll, r.writeFiles, r.pivot, r.nameHost, r.connect} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := unix.MountSetattr(root, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("seal the root: %w", err)
	}
	return nil
}

// rootSize bounds the root itself, which holds directories and a few small files.
const rootSize = 4 << 20

// maxTempFiles bounds the files in /tmp and in /dev/shm, each: the kernel's memory for them, about 1 KiB a file, is in no limit
// of a command.
const maxTempFiles = 1 << 18

// newTmpfs makes a file system in memory that is not attached yet.
func newTmpfs(size int64) (int, error) {
	options := map[string]string{"size": strconv.FormatInt(size, 10), "mode": "0755"}
	return newMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, options)
}

func newMount(kind string, attributes int, options map[string]string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("make a %s: %w", kind, err)
	}
	defer unix.Close(fs) // the mount keeps what it needs
	for name, value := range options {
		set := unix.FsconfigSetString
		if value == "" {
			set = func(fs int, name, _ string) error { return unix.FsconfigSetFlag(fs, name) }
		}
		if err := set(fs, name, value); err != nil {
			return 0, fmt.Errorf("set %s of a %s: %w", name, kind, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return 0, fmt.Errorf("make a %s: %w", kind, err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return 0, fmt.Errorf("mount a %s: %w", kind, err)
	}
	return fd, nil
}

func attach(tree int, to string) error {
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach %s: %w", to, err)
	}
	return nil
}

// mountNew makes a file system and attaches it to a new directory of the root.
func mountNew(to, kind string, attributes int, options map[string]string) error {
	fd, err := newMount(kind, attributes, options)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // a path handle
	if err := os.MkdirAll(below+to, 0o755); err != nil {
		return err
	}
	return attach(fd, below+to)
}

// makeSystem makes what no machine is needed for: processes, devices, terminals, memory.
func (r *Root) makeSystem() error {
	const plain = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	const quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	open := map[string]string{"size": strconv.FormatInt(r.MaxTemp, 10), "nr_inodes": strconv.Itoa(maxTempFiles), "mode": "1777"}
	if err := errors.Join(
		mountNew("/proc", "proc", plain|unix.MOUNT_ATTR_NOEXEC, nil),
		mountNew("/tmp", "tmpfs", plain, open),
		mountNew("/dev/shm", "tmpfs", plain, open),
		mountNew("/dev/pts", "devpts", quiet, map[string]string{"mode": "0620", "ptmxmode": "0666"}),
	); err != nil {
		return err
	}
	for _, dir := range []string{"/run", "/var"} {
		if err := os.MkdirAll(below+dir, 0o755); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{
		"/dev/ptmx": "pts/ptmx", "/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0",
		"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2", "/var/tmp": "/tmp",
	} {
		if err := os.Symlink(to, below+name); err != nil {
			return err
		}
	}
	for _, name := range devices {
		if err := (Mount{From: "/dev/" + name, To: "/dev/" + name, Write: true, Device: true, Maybe: true}).make(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Root) mountAll() error {
	for _, m := range r.Mounts {
		if err := m.make(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Root) writeFiles() error {
	for name, text := range r.Files {
		if err := os.MkdirAll(path.Dir(below+name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(below+name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pivot leaves the machine's root for the new one.
func (r *Root) pivot() error {
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the machine's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	return nil
}

// nameHost gives the machine inside its name.
func (r *Root) nameHost() error {
	if err := unix.Sethostname([]byte(r.Host)); err != nil {
		return fmt.Errorf("name the host: %w", err)
	}
	return nil
}

// make puts one part in its place.
func (m Mount) make() error {
	if m.Link != "" {
		if err := os.MkdirAll(path.Dir(below+m.To), 0o755); err != nil {
			return err
		}
		return os.Symlink(m.Link, below+m.To)
	}
	tree, err := m.tree()
	if err != nil {
		if m.Maybe {
			return nil
		}
		return fmt.Errorf("open %s: %w", m.From, err)
	}
	defer unix.Close(tree) // a path handle
	if m.Below != "" {
		return m.attachBelow(tree)
	}
	if err := standIn(tree, below+m.To); err != nil {
		return fmt.Errorf("make a place for %s: %w", m.To, err)
	}
	if err := attach(tree, below+m.To); err != nil && (!m.Maybe || !errors.Is(err, fs.ErrNotExist)) {
		return err // what was removed since it was opened is not there
	}
	return nil
}

// attachBelow attaches a part where commands may have put anything.
func (m Mount) attachBelow(tree int) error {
	top, err := unix.Open(below+m.To, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", m.To, err)
	}
	defer unix.Close(top) // a path handle
	at, err := unix.Openat2(top, m.Below, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil
	case err != nil:
		return fmt.Errorf("open %s below %s: %w", m.Below, m.To, err)
	}
	defer unix.Close(at) // a path handle
	if same, err := alike(tree, at); err != nil || !same {
		return err
	}
	if err := unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach %s below %s: %w", m.Below, m.To, err)
	}
	return nil
}

// alike reports whether two handles are both of directories, or both of regular files: others cannot be attached there.
func alike(a, b int) (bool, error) {
	var kinds [2]uint32
	for i, fd := range []int{a, b} {
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			return false, fmt.Errorf("inspect the place of a layer: %w", err)
		}
		kinds[i] = stat.Mode & unix.S_IFMT
	}
	return kinds[0] == kinds[1] && (kinds[0] == unix.S_IFDIR || kinds[0] == unix.S_IFREG), nil
}

// tree opens the part as a mount of its own with no more rights than it needs.
func (m Mount) tree() (int, error) {
	if len(m.Layers) > 0 {
		return m.overlay()
	}
	if m.FD != 0 {
		return m.FD, m.seal()
	}
	if m.From == "" {
		return newTmpfs(rootSize)
	}
	return OpenTree(m, 0)
}

// seal lets nothing be written to what others have opened.
func (m Mount) seal() error {
	if m.Write {
		return nil
	}
	return unix.MountSetattr(m.FD, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// overlay makes a mount of its layers. These must be attached somewhere until it is made: in the current directory.
func (m Mount) overlay() (int, error) {
	var at []string
	defer func() {
		for _, dir := range at {
			_ = unix.Unmount(dir, unix.MNT_DETACH) // the overlay has mounts of its own
			_ = os.Remove(dir)                     // an empty directory of the root
		}
	}()
	for i, layer := range append([]Mount{{From: m.From, FD: m.FD, Write: true}}, m.Layers...) {
		dir := ".layer" + strconv.Itoa(i)
		if err := layer.attachAt(dir); err != nil {
			return 0, &layerError{Views, fmt.Errorf("open layer %d of %s: %w", i, m.To, err)}
		}
		at = append(at, dir)
	}
	fd, err := newMount("overlay", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, map[string]string{
		"upperdir": at[0] + "/" + Upper, "workdir": at[0] + "/" + Work, "lowerdir": strings.Join(at[1:], ":"), "userxattr": "",
		"volatile": "", // no one looks at it after its last command: nothing must reach the disk
	})
	if err != nil {
		return 0, &layerError{Views, err}
	}
	return fd, nil
}

// attachAt attaches the part to a new directory.
func (m Mount) attachAt(dir string) error {
	tree, err := m.tree()
	if err != nil {
		return err
	}
	defer unix.Close(tree) // a path handle
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return attach(tree, dir)
}

// OpenTree opens a copy of the tree From as a mount that is not attached yet, with no more rights than m says. A users
// descriptor that is not 0 is a user namespace that says whose files of other users' are.
func OpenTree(m Mount, users int) (int, error) {
	recursive := uint(unix.AT_RECURSIVE)
	if users != 0 {
		recursive = 0 // what is mounted below may not know how to map users
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, m.From, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|recursive)
	if err != nil {
		return 0, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !m.Device {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if !m.Write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if users != 0 {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(users)
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|recursive, &attr); err != nil {
		_ = unix.Close(fd) // a path handle
		return 0, fmt.Errorf("restrict the mount: %w", err)
	}
	return fd, nil
}

// standIn makes a directory or a file for a tree to be attached to, where there is none.
func standIn(tree int, at string) error {
	var stat unix.Stat_t
	if err := unix.Fstat(tree, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(at, 0o755)
	}
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, nil, 0o644)
}

// connect brings the loopback of this namespace up, and hands the parent the socket where commands find the proxy.
func (r *Root) connect() error {
	if r.Connected {
		return nil
	}
	s, err := loopbackUp()
	if err != nil {
		return err
	}
	defer unix.Close(s) // the parent has its own copy
	if r.Proxy == 0 {
		return nil
	}
	err = unix.Bind(s, &unix.SockaddrInet4{Port: r.Port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(s, unix.SOMAXCONN)
	}
	if err == nil {
		err = unix.Sendmsg(r.Proxy, []byte{0}, unix.UnixRights(s), nil, 0)
	}
	if err != nil {
		return fmt.Errorf("open the way to the network: %w", err)
	}
	return nil
}

// loopbackUp brings the loopback of this namespace up, and returns a socket in it.
func loopbackUp() (int, error) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("bring loopback up: %w", err)
	}
	request, err := unix.NewIfreq("lo")
	if err == nil {
		request.SetUint16(unix.IFF_UP)
		err = unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
	}
	if err != nil {
		_ = unix.Close(s) // it carried nothing
		return 0, fmt.Errorf("bring loopback up: %w", err)
	}
	return s, nil
}
