package stage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are the system calls that no build or test needs and that lead out of confinement, or to parts of the kernel that are
// attacked most. The lists of the processors add those that exist there alone.
var denied = []uint32{
	// other processes
	unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_SETNS, unix.SYS_UNSHARE,
	// file systems
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	// the kernel
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_SYSLOG, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_VHANGUP,
	// the machine's clock and name
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME,
}

// traceCalls look into other processes, as debuggers and leak checks do; the value is the place of the process's id among the
// arguments.
var traceCalls = map[uint32]int{unix.SYS_PTRACE: 1, unix.SYS_PROCESS_VM_READV: 0, unix.SYS_PROCESS_VM_WRITEV: 0}

// absent are calls that programs know how to do without when the kernel does not have them. The filter cannot look into the
// arguments of clone3, which are in memory; C libraries then use clone.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// namespaceFlags are the flags of clone that make one.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Offsets into what the kernel shows a filter (struct seccomp_data); the processors that have one are little-endian.
const (
	atCall  = 0
	atArch  = 4
	atFirst = 16
)

func argument(n int) uint32 { return uint32(atFirst + 8*n) }

// program is a filter in the making: the kernel's own small machine language. There is no interpreter for it here.
type program []unix.SockFilter

func (p *program) load(offset uint32) { p.step(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) ret(value uint32)   { p.step(unix.BPF_RET|unix.BPF_K, value, 0, 0) }

func (p *program) step(code int, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: uint16(code), K: k, Jt: yes, Jf: no})
}

// when adds a body that runs where the loaded value compares to k, and that must not fall through.
func (p *program) when(comparison int, k uint32, body func(*program)) {
	var inner program
	body(&inner)
	p.step(unix.BPF_JMP|unix.BPF_K|comparison, k, 0, uint8(len(inner)))
	*p = append(*p, inner...)
}

func (p *program) refuse(errno unix.Errno) { p.ret(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
func (p *program) forbid()                 { p.refuse(unix.EPERM) }
func (p *program) allow()                  { p.ret(unix.SECCOMP_RET_ALLOW) }

// rules writes the filter for this processor: everything but what is denied is allowed. own reports that the command has
// namespaces of its own: then what is local to a machine is local to it, unix sockets and shared memory. inet allows the
// network's sockets, trace to trace what Landlock lets it: processes of the command. thread is the one that starts the command,
// last the highest id of those of the stage.
func rules(own, inet, trace bool, thread, last uint32) program {
	var p program
	p.load(atArch)
	p.step(unix.BPF_JMP|unix.BPF_K|unix.BPF_JEQ, arch, 1, 0)
	p.ret(unix.SECCOMP_RET_KILL_PROCESS)
	p.load(atCall)
	if foreign != 0 {
		p.when(unix.BPF_JGE, foreign, func(p *program) { p.ret(unix.SECCOMP_RET_KILL_PROCESS) })
	}
	calls := slices.Concat(denied, deniedHere)
	if !own {
		calls = append(calls, shared...)
	}
	for _, call := range calls {
		p.when(unix.BPF_JEQ, call, (*program).forbid)
	}
	for call, at := range traceCalls {
		p.when(unix.BPF_JEQ, call, func(p *program) { p.traces(trace, at, thread) })
	}
	for _, call := range absent {
		p.when(unix.BPF_JEQ, call, func(p *program) { p.refuse(unix.ENOSYS) })
	}
	p.when(unix.BPF_JEQ, unix.SYS_CLONE, func(p *program) {
		p.load(argument(0))
		p.when(unix.BPF_JSET, namespaceFlags, (*program).forbid)
		p.allow()
	})
	p.when(unix.BPF_JEQ, unix.SYS_IOCTL, func(p *program) {
		p.load(argument(1))
		for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX} { // both type into a terminal
			p.when(unix.BPF_JEQ, request, (*program).forbid)
		}
		p.allow()
	})
	p.when(unix.BPF_JEQ, unix.SYS_SOCKET, func(p *program) { p.sockets(own, inet) })
	p.keepStage(own, thread)
	p.when(unix.BPF_JEQ, unix.SYS_PRLIMIT64, (*program).limits)
	p.keepPriority(own, last)
	for call, mode := range deviceCalls {
		p.when(unix.BPF_JEQ, call, func(p *program) { p.noDevices(mode) })
	}
	p.allow()
	return p
}

// signalCalls send signals, or open what does; the value is the place of the thread's id among the arguments.
var signalCalls = map[uint32]int{
	unix.SYS_KILL: 0, unix.SYS_TKILL: 0, unix.SYS_RT_SIGQUEUEINFO: 0, unix.SYS_PIDFD_OPEN: 0,
	unix.SYS_TGKILL: 1, unix.SYS_RT_TGSIGQUEUEINFO: 1,
}

// keepStage keeps the command from ending the stage through the thread that starts it: Landlock lets the command signal that
// one, which is confined as it is, and it lives until the command's first program runs. A process of the command that gets its
// id much later can then not be signalled.
func (p *program) keepStage(own bool, thread uint32) {
	for call, at := range signalCalls {
		p.when(unix.BPF_JEQ, call, func(p *program) {
			p.load(argument(at))
			p.when(unix.BPF_JEQ, thread, (*program).forbid)
			p.allow()
		})
	}
	if own { // nothing outlives process 1, whatever ends it
		return
	}
	// A directory of /proc serves as a descriptor of a process, too.
	p.when(unix.BPF_JEQ, unix.SYS_PIDFD_SEND_SIGNAL, func(p *program) { p.refuse(unix.ENOSYS) })
	// An owner of a file is signalled when it can be read. Only the signal that this is by itself does a stage no harm.
	p.when(unix.BPF_JEQ, unix.SYS_FCNTL, func(p *program) {
		p.load(argument(1))
		p.when(unix.BPF_JEQ, unix.F_SETSIG, (*program).forbid)
		p.allow()
	})
}

// traces lets the command trace all but the thread that starts it, which the kernel takes for one of the command.
func (p *program) traces(trace bool, at int, thread uint32) {
	if trace {
		p.load(argument(at))
		p.when(unix.BPF_JEQ, thread, (*program).forbid)
		p.allow()
		return
	}
	p.forbid()
}

// priorityCalls set when and where a thread runs; the value is the place of its id among the arguments.
var priorityCalls = map[uint32]int{
	unix.SYS_SCHED_SETAFFINITY: 0, unix.SYS_SCHED_SETSCHEDULER: 0, unix.SYS_SCHED_SETPARAM: 0, unix.SYS_SCHED_SETATTR: 0,
	unix.SYS_MIGRATE_PAGES: 0, unix.SYS_MOVE_PAGES: 0, unix.SYS_SETPRIORITY: 1, unix.SYS_IOPRIO_SET: 1,
}

// everyProcess is, by call, the argument that means all processes of a user.
var everyProcess = map[uint32]uint32{unix.SYS_SETPRIORITY: unix.PRIO_USER, unix.SYS_IOPRIO_SET: 3}

// keepPriority keeps the command from slowing the stage down. In a namespace of its own the threads of the stage have the lowest
// ids, which never come again; elsewhere a command sets only what its calling thread has.
func (p *program) keepPriority(own bool, last uint32) {
	for call, at := range priorityCalls {
		p.when(unix.BPF_JEQ, call, func(p *program) {
			if kind, ok := everyProcess[call]; ok {
				p.load(argument(0))
				p.when(unix.BPF_JEQ, kind, (*program).forbid)
			}
			p.load(argument(at))
			p.when(unix.BPF_JEQ, 0, (*program).allow)
			if own {
				p.when(unix.BPF_JGT, last, (*program).allow)
			}
			p.forbid()
		})
	}
}

// lastThread is the highest id of a thread of this process.
func lastThread() (uint32, error) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, fmt.Errorf("list own threads: %w", err)
	}
	last := 0
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			last = max(last, id)
		}
	}
	return uint32(last), nil
}

// limits lets a process set limits of its own and read those of others. With the stage's, a command could keep it from looking
// for what to end.
func (p *program) limits() {
	p.load(argument(0))
	p.when(unix.BPF_JEQ, 0, (*program).allow)
	for _, half := range []uint32{argument(2), argument(2) + 4} { // where the new limits are, if any
		p.load(half)
		p.when(unix.BPF_JGT, 0, (*program).forbid)
	}
	p.allow()
}

// sockets allows the families that were asked for, and of netlink the one that lists the network's interfaces.
func (p *program) sockets(unixSockets, inet bool) {
	var families []uint32
	if unixSockets {
		families = append(families, unix.AF_UNIX)
	}
	if inet {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	p.load(argument(0))
	for _, family := range families {
		p.when(unix.BPF_JEQ, family, (*program).allow)
	}
	p.when(unix.BPF_JEQ, unix.AF_NETLINK, func(p *program) {
		p.load(argument(2))
		p.when(unix.BPF_JEQ, unix.NETLINK_ROUTE, (*program).allow)
		p.refuse(unix.EAFNOSUPPORT)
	})
	p.refuse(unix.EAFNOSUPPORT)
}

// noDevices lets mknod make pipes and files, which need no rights, and nothing else.
func (p *program) noDevices(mode int) {
	p.load(argument(mode))
	p.step(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, unix.S_IFMT, 0, 0)
	for _, kind := range []uint32{unix.S_IFCHR, unix.S_IFBLK} {
		p.when(unix.BPF_JEQ, kind, (*program).forbid)
	}
	p.allow()
}

// filter puts the filter on the calling thread, and on whatever it starts, for ever.
func filter(own, inet, trace bool) error {
	if arch == 0 {
		return errors.New(NoFilter)
	}
	last, err := lastThread()
	if err != nil {
		return err
	}
	p := rules(own, inet, trace, uint32(unix.Gettid()), last)
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&prog))) //nolint:gosec // the kernel's interface
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// NoFilter is why there is no filter on other processors.
const NoFilter = "there is no list of system calls for this processor"

// HasFilter reports whether there is a list of system calls for this processor.
const HasFilter = arch != 0
