package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackVar makes the test program a command in the sandbox: it executes attacks, and prints a line for each that succeeds.
// What it needs to know of the machine is in its environment too: OUT is a directory with the files "victim" and "secret", HOST
// the id of the process that started the sandbox, and the others are addresses of listeners outside.
const attackVar = "DIVISI_ATTACK"

func carryOut(what string) int {
	switch what {
	case "parent":
		return beParent()
	case "cache":
		return makeWithoutDescriptors()
	case "child":
		return traceChild()
	case "traced":
		return beTraced()
	}
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		if err := attacks[name](); err == nil {
			fmt.Println("LEAK " + name) //nolint:forbidigo // the test reads it
		} else {
			fmt.Printf("refused %s: %v\n", name, err) //nolint:forbidigo // for the reader of the test's output
		}
	}
	return 0
}

func outside(name string) string { return filepath.Join(os.Getenv("OUT"), name) }

func host() int {
	pid, _ := strconv.Atoi(os.Getenv("HOST")) // the test sets it
	return pid
}

// sharedMemory reads what a process outside shares by a key.
func sharedMemory() error {
	key, _ := strconv.Atoi(os.Getenv("SHARED")) // the test sets it
	id, err := unix.SysvShmGet(key, 0, 0)
	if err != nil {
		return err
	}
	_, err = unix.SysvShmAttach(id, 0, 0)
	return err
}

// attacks return nil when they got through. None does harm where it does.
var attacks = map[string]func() error{
	"write":               func() error { return os.WriteFile(outside("new"), nil, 0o600) },
	"overwrite":           func() error { return open(outside("victim"), unix.O_WRONLY) },
	"write by symlink":    func() error { return link(os.Symlink, unix.O_WRONLY) },
	"write by hard link":  func() error { return link(os.Link, unix.O_WRONLY) },
	"write by proc root":  func() error { return open("/proc/self/root"+outside("victim"), unix.O_WRONLY) },
	"write by init root":  func() error { return open("/proc/1/root"+outside("victim"), unix.O_WRONLY) },
	"write by init cwd":   func() error { return open("/proc/1/cwd/../outside-of-it", unix.O_WRONLY|unix.O_CREAT) },
	"write by dot-dot":    func() error { return open(strings.Repeat("../", 40)+outside("victim"), unix.O_WRONLY) },
	"write by directory":  writeByDirectory,
	"rename out":          func() error { return renameOut() },
	"rename in":           func() error { return os.Rename(outside("spare"), "spare") },
	"remove":              func() error { return os.Remove(outside("spare")) },
	"truncate":            func() error { return os.Truncate(outside("victim"), 0) },
	"change mode":         func() error { return os.Chmod(outside("victim"), 0o777) },
	"change times":        func() error { return unix.Utimes(outside("victim"), make([]unix.Timeval, 2)) },
	"change attributes":   func() error { return unix.Setxattr(outside("victim"), "user.evil", []byte("x"), 0) },
	"change owner":        func() error { return os.Chown(outside("victim"), os.Getuid(), os.Getgid()) },
	"make directory":      func() error { return os.Mkdir(outside("dir"), 0o700) },
	"make fifo":           func() error { return unix.Mkfifo(outside("fifo"), 0o600) },
	"write machine files": func() error { return open("/etc/hosts", unix.O_WRONLY) },
	"write kernel":        func() error { return open("/proc/sys/kernel/core_pattern", unix.O_WRONLY) },
	"write sysrq":         func() error { return open("/proc/sysrq-trigger", unix.O_WRONLY) },
	"write system":        func() error { return open("/usr", unix.O_WRONLY|unix.O_TMPFILE) },

	"read secret":          func() error { return open(outside("secret"), unix.O_RDONLY) },
	"read by symlink":      func() error { return link(os.Symlink, unix.O_RDONLY) },
	"read by hard link":    func() error { return link(os.Link, unix.O_RDONLY) },
	"read by handle":       readByHandle,
	"list":                 func() error { _, err := os.ReadDir(os.Getenv("OUT")); return err },
	"see file":             func() error { _, err := os.Stat(outside("secret")); return err },
	"read passwords":       func() error { return open("/etc/shadow", unix.O_RDONLY) },
	"read environment":     func() error { return hasPlanted("/proc/" + os.Getenv("HOST") + "/environ") },
	"read init's":          func() error { return hasPlanted("/proc/1/environ") },
	"read anybody's":       anybodysEnvironment,
	"see command lines":    commandLines,
	"read raw disk":        rawDisk,
	"read kernel log":      func() error { _, err := unix.Klogctl(3, make([]byte, 64)); return err },
	"read kernel messages": func() error { return open("/dev/kmsg", unix.O_RDONLY) },

	"unix socket":          func() error { return dial("unix", os.Getenv("SOCKET")) },
	"unix by proc root":    func() error { return dial("unix", "/proc/1/root"+os.Getenv("SOCKET")) },
	"abstract socket":      func() error { return dial("unix", "@"+os.Getenv("ABSTRACT")) },
	"TCP":                  func() error { return connectInet(0) },
	"MPTCP":                func() error { return connectInet(262) }, // IPPROTO_MPTCP
	"UDP":                  udp,
	"vsock":                func() error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"packet socket":        func() error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"raw socket":           func() error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"kernel events":        func() error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT) },
	"other sockets":        func() error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
	"signal":               func() error { return unix.Kill(host(), 0) },
	"signal stage":         func() error { return unix.Kill(os.Getppid(), 0) },
	"shared memory":        sharedMemory,
	"trace":                func() error { return unix.PtraceSeize(host()) },
	"trace init":           func() error { return unix.PtraceSeize(1) },
	"trace stage":          traceStage,
	"read memory":          readMemory,
	"open memory":          func() error { return open("/proc/"+os.Getenv("HOST")+"/mem", unix.O_RDONLY) },
	"init's memory":        func() error { return open("/proc/1/mem", unix.O_RDONLY) },
	"take descriptor":      takeDescriptor,
	"change priority":      func() error { return changePriority(unix.PRIO_PROCESS, host()) },
	"renice stage":         func() error { return changePriority(unix.PRIO_PROCESS, os.Getppid()) },
	"renice everybody":     func() error { return changePriority(unix.PRIO_USER, 0) },
	"pin stage":            func() error { return pin(os.Getppid()) },
	"pin stage's thread":   func() error { return pin(os.Getppid() + 1) },
	"change limits":        func() error { return changeLimits(host()) },
	"change stage's":       func() error { return changeLimits(os.Getppid()) },
	"Inherited descriptor": inherited,

	"mount":          func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"unmount":        func() error { return unix.Unmount("/proc", unix.MNT_DETACH) },
	"new mount":      func() error { _, err := unix.Fsopen("tmpfs", 0); return err },
	"copy tree":      func() error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err },
	"chroot":         func() error { return unix.Chroot(".") },
	"unshare":        func() error { return inThread(func() error { return unix.Unshare(unix.CLONE_NEWNET) }) },
	"nested user":    nestedUser,
	"nested clone3":  clone3,
	"join namespace": joinNamespace,
	"block device":   func() error { return unix.Mknod("disk", unix.S_IFBLK|0o600, 8<<8) },
	"device at":      func() error { return unix.Mknodat(unix.AT_FDCWD, "null", unix.S_IFCHR|0o600, 1<<8|3) },
	"keys": func() error {
		_, err := unix.AddKey("user", "evil", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	},
	"session keys":      func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err },
	"io_uring":          func() error { return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&[120]byte{}))) },
	"bpf":               func() error { return reached(unix.SYS_BPF) },
	"perf":              func() error { return reached(unix.SYS_PERF_EVENT_OPEN) },
	"userfaultfd":       func() error { return call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1, 0) },
	"load module":       func() error { return reached(unix.SYS_FINIT_MODULE) },
	"watch file system": func() error { return call(unix.SYS_FANOTIFY_INIT, 0, 0) },
	"name host":         func() error { return unix.Sethostname([]byte("evil")) },
	"type for others":   func() error { return typeForOthers() },
	"gain rights":       gainRights,
	"dump core":         func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}) },
}

// traceStage tries all threads of the process that started this one.
func traceStage() error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", os.Getppid()))
	for _, t := range threads {
		id, _ := strconv.Atoi(t.Name()) // they are numbers
		if err = unix.PtraceSeize(id); err == nil {
			return nil
		}
	}
	return err
}

// beTraced asks to be traced by its parent, is sent a signal, and says that it went on.
func beTraced() int {
	runtime.LockOSThread()
	_, _, errno := unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)
	fmt.Println("asked:", errno == 0, unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGWINCH)) //nolint:forbidigo // the test reads it
	fmt.Println("went on")                                                                    //nolint:forbidigo // the test reads it
	return 0
}

// traceChild starts a program that is traced, as debuggers do.
func traceChild() int {
	if err := inThread(func() error {
		runtime.LockOSThread()
		return start(&syscall.SysProcAttr{Ptrace: true})
	}); err != nil {
		fmt.Println(err) //nolint:forbidigo // the test reads it
		return 1
	}
	return 0
}

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// link reaches a file outside through a link in the tree.
func link(makeLink func(string, string) error, flags int) error {
	name := fmt.Sprintf("link-%d-%p", flags, makeLink)
	if err := makeLink(outside("victim"), name); err != nil {
		return err
	}
	return open(name, flags)
}

func writeByDirectory() error {
	if err := os.Symlink(os.Getenv("OUT"), "way-out"); err != nil {
		return err
	}
	return open("way-out/new", unix.O_WRONLY|unix.O_CREAT)
}

func renameOut() error {
	if err := os.WriteFile("mine", nil, 0o600); err != nil {
		return err
	}
	return os.Rename("mine", outside("victim"))
}

// readByHandle is how a container's root once read the machine's files: a number leads to any file of a file system.
func readByHandle() error {
	handle, id, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0)
	_ = id
	if err != nil {
		return err
	}
	dir, err := unix.Open(".", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	return err
}

func hasPlanted(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(text, []byte("planted-")) {
		return errors.New("nothing of it is there")
	}
	return err
}

func anybodysEnvironment() error {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if hasPlanted(path) == nil {
			return nil
		}
	}
	return errors.New("no user has it")
}

func commandLines() error {
	text, err := os.ReadFile("/proc/" + os.Getenv("HOST") + "/cmdline")
	if err == nil && !bytes.Contains(text, []byte("test")) {
		return errors.New("it is another process")
	}
	return err
}

func rawDisk() error {
	for _, disk := range []string{"/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/mem", "/dev/kvm", "/dev/fuse"} {
		if open(disk, unix.O_RDONLY) == nil {
			return nil
		}
	}
	return errors.New("there is no device that opens")
}

// changePriority sets what was set.
func changePriority(kind, who int) error {
	raw, err := unix.Getpriority(kind, who)
	if err != nil {
		return err
	}
	return unix.Setpriority(kind, who, 20-raw) // the call returns it the other way round
}

// pin sets the processors that were set.
func pin(thread int) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(thread, &set); err != nil {
		return err
	}
	return unix.SchedSetaffinity(thread, &set)
}

// changeLimits sets what was set.
func changeLimits(pid int) error {
	var had unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_STACK, nil, &had); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_STACK, &had, nil)
}

func readMemory() error {
	here := make([]byte, 8)
	local := []unix.Iovec{{Base: &here[0], Len: 8}}
	_, err := unix.ProcessVMReadv(host(), local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil // only the address was wrong
	}
	return err
}

func takeDescriptor() error {
	fd, err := unix.PidfdOpen(host(), 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 1, 0)
	return err
}

// inherited looks for what the sandbox left open.
func inherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		fd, _ := strconv.Atoi(e.Name()) // they are numbers
		if err == nil && fd > 2 && !strings.Contains(target, "/proc/") && !strings.HasPrefix(target, "anon_inode:") &&
			!strings.HasPrefix(target, "/sys/fs/cgroup") { // Go's own
			return nil
		}
	}
	return errors.New("nothing is open")
}

// inThread runs what works in a program with one thread alone.
func inThread(f func() error) error {
	result := make(chan error)
	go func() { result <- f() }()
	return <-result
}

func nestedUser() error {
	return start(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER})
}

func start(attr *syscall.SysProcAttr) error {
	process, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: attr})
	if err != nil {
		return err
	}
	_, err = process.Wait()
	return err
}

// clone3 has its flags in memory, where no filter sees them: an empty one must not be known at all.
func clone3() error {
	var arguments [88]byte
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&arguments)), 1, 0)
	if errno == unix.EINVAL {
		return nil // the kernel inspected it
	}
	return errno
}

func joinNamespace() error {
	fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, 0)
}

func call(number, a, b uintptr) error {
	if _, _, errno := unix.RawSyscall(number, a, b, 0); errno != 0 {
		return errno
	}
	return nil
}

// reached makes a call without sense: it got through when the kernel minds its arguments.
func reached(number uintptr) error {
	_, _, errno := unix.RawSyscall(number, ^uintptr(0), 0, 0)
	if errno == unix.EINVAL || errno == unix.EFAULT || errno == unix.EBADF || errno == unix.E2BIG || errno == 0 {
		return nil
	}
	return errno
}

// typeForOthers minds only whether the filter lets the call through: without a terminal it fails in another way.
func typeForOthers() error {
	if err := unix.IoctlSetInt(0, unix.TIOCSTI, 0); errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

// gainRights finds a program that runs as root for every caller, and checks whether it would.
func gainRights() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(status), "\n") {
		name, value, _ := strings.Cut(line, ":\t")
		switch {
		case name == "NoNewPrivs" && value != "1":
			return nil
		case (name == "CapEff" || name == "CapPrm" || name == "CapAmb") && strings.Trim(value, "0") != "":
			return nil
		case name == "Uid" && strings.HasPrefix(value, "0\t"):
			return nil
		}
	}
	return errors.New("there is no way")
}
