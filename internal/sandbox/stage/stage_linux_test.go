package stage

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A program that is started under the name of the stage gets only an error.
func TestTheStageIsStartedByDivisiAlone(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(text, []byte("no config"), 0o600))
	config, err := os.Open(text)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, config.Close()) })
	for name, files := range map[string][]*os.File{"no config": nil, "nonsense": {config}} {
		heard, say, err := os.Pipe()
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Args = []string{Marker}
		cmd.ExtraFiles = append(files, make([]*os.File, 1-len(files))...)
		cmd.ExtraFiles = append(cmd.ExtraFiles, say)
		require.NoError(t, cmd.Run(), name)
		require.NoError(t, say.Close())
		said, err := io.ReadAll(heard)
		require.NoError(t, err)
		require.Contains(t, string(said), "Error", name)
		require.NoError(t, heard.Close())
	}
}

func TestWritingFollowsTheVersion(t *testing.T) {
	t.Parallel()
	require.Zero(t, writing(1)&unix.LANDLOCK_ACCESS_FS_REFER)
	require.NotZero(t, writing(2)&unix.LANDLOCK_ACCESS_FS_REFER)
	require.Zero(t, writing(2)&unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	require.NotZero(t, writing(3)&unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	require.Zero(t, writing(4)&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	require.NotZero(t, writing(5)&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
}

// starter is the id of the thread that starts the command, as the filters here know it.
const starter = 4711

// last is the highest id of the threads of a stage in its own namespace, as the filters here know it.
const last = 14

// Every jump of a filter lands within it, and every path through it ends in a verdict.
func TestFiltersAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, unixSockets := range []bool{false, true} {
		p := rules(unixSockets, !unixSockets, unixSockets, starter, last)
		require.Less(t, len(p), unix.BPF_MAXINSNS)
		for i, step := range p {
			if step.Code&0x07 == unix.BPF_JMP {
				require.Less(t, i+1+int(max(step.Jt, step.Jf)), len(p), "step %d", i)
			}
		}
		require.EqualValues(t, unix.BPF_RET|unix.BPF_K, p[len(p)-1].Code)
	}
	all := slices.Concat(denied, deniedHere, absent)
	slices.Sort(all)
	require.Len(t, slices.Compact(slices.Clone(all)), len(all), "a call is listed twice")
}

// verdict is what a filter says of a call: a small interpreter of the steps that rules writes.
func verdict(t *testing.T, p program, arch, call uint32, arguments ...uint32) uint32 {
	t.Helper()
	data := map[uint32]uint32{atArch: arch, atCall: call}
	for i, value := range arguments {
		data[argument(i)] = value
	}
	return verdictOf(t, p, data)
}

// verdictOf is verdict for what the kernel shows, by its place.
func verdictOf(t *testing.T, p program, data map[uint32]uint32) uint32 {
	t.Helper()
	value := uint32(0)
	for i := 0; i < len(p); i++ {
		step, holds := p[i], false
		switch step.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			value = data[step.K]
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			value &= step.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return step.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = value == step.K
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			holds = value > step.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = value >= step.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = value&step.K != 0
		default:
			require.Fail(t, "an unknown step", "%+v", step)
		}
		if holds {
			i += int(step.Jt)
		} else {
			i += int(step.Jf)
		}
	}
	require.Fail(t, "no verdict")
	return 0
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	if !HasFilter {
		t.Skip(NoFilter)
	}
	const allow, kill = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_KILL_PROCESS
	refuse := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	wide, narrow := rules(true, true, true, starter, last), rules(false, false, false, starter, last)
	for _, call := range slices.Concat(denied, deniedHere) {
		require.Equal(t, refuse(unix.EPERM), verdict(t, narrow, arch, call), call)
	}
	for _, call := range absent {
		require.Equal(t, refuse(unix.ENOSYS), verdict(t, wide, arch, call), call)
	}
	for call, mode := range deviceCalls {
		at := make([]uint32, mode+1)
		for kind, want := range map[uint32]uint32{
			unix.S_IFCHR: refuse(unix.EPERM), unix.S_IFBLK: refuse(unix.EPERM), unix.S_IFIFO: allow, unix.S_IFREG: allow, 0: allow,
		} {
			at[mode] = kind | 0o644
			require.Equal(t, want, verdict(t, wide, arch, call, at...), "%d %o", call, kind)
		}
	}
	family := refuse(unix.EAFNOSUPPORT)
	for _, c := range []struct {
		filter program
		call   uint32
		args   []uint32
		want   uint32
	}{
		{wide, unix.SYS_READ, nil, allow},
		{wide, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_VFORK | uint32(unix.SIGCHLD)}, allow},
		{wide, unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | uint32(unix.SIGCHLD)}, refuse(unix.EPERM)},
		{wide, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_NEWNET}, refuse(unix.EPERM)},
		{wide, unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, refuse(unix.EPERM)},
		{wide, unix.SYS_IOCTL, []uint32{0, unix.TIOCLINUX}, refuse(unix.EPERM)},
		{wide, unix.SYS_IOCTL, []uint32{0, unix.TIOCGWINSZ}, allow},
		{wide, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM, 0}, allow},
		{wide, unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DGRAM, 0}, allow},
		{wide, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		{wide, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, family},
		{wide, unix.SYS_SOCKET, []uint32{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, family},
		{wide, unix.SYS_SOCKET, []uint32{unix.AF_PACKET, unix.SOCK_RAW, 0}, family},
		{narrow, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM, 0}, family},
		{narrow, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM, 262}, family},
		{narrow, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_STREAM, 0}, allow},
	} {
		require.Equal(t, c.want, verdict(t, c.filter, arch, c.call, c.args...), "%d %v", c.call, c.args)
	}
	require.EqualValues(t, kill, verdict(t, wide, arch+1, unix.SYS_READ), "another processor's calls have other numbers")
	if foreign != 0 {
		require.EqualValues(t, kill, verdict(t, wide, arch, foreign|unix.SYS_READ))
	}
}

// The thread that starts the command lives until its first program runs: no signal reaches it, by any of its names.
func TestTheStartingThreadIsOutOfReach(t *testing.T) {
	t.Parallel()
	if !HasFilter {
		t.Skip(NoFilter)
	}
	const allow, refused = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	const kill, pid = uint32(unix.SIGKILL), starter - 3
	for _, own := range []bool{false, true} {
		p := rules(own, false, own, starter, last)
		for _, call := range []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_PIDFD_OPEN} {
			require.Equal(t, refused, verdict(t, p, arch, call, starter, kill), call)
			require.EqualValues(t, allow, verdict(t, p, arch, call, starter+1, starter, last), "%d: the neighbour", call)
		}
		for _, call := range []uint32{unix.SYS_TGKILL, unix.SYS_RT_TGSIGQUEUEINFO} {
			require.Equal(t, refused, verdict(t, p, arch, call, pid, starter, kill), call)
			require.EqualValues(t, allow, verdict(t, p, arch, call, starter, starter+1, kill), "%d: the neighbour", call)
		}
	}
	p := rules(false, false, false, starter, last)
	require.Equal(t, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS), verdict(t, p, arch, unix.SYS_PIDFD_SEND_SIGNAL, 3, kill))
	require.Equal(t, refused, verdict(t, p, arch, unix.SYS_FCNTL, 3, unix.F_SETSIG, kill))
	require.EqualValues(t, allow, verdict(t, p, arch, unix.SYS_FCNTL, 3, unix.F_SETFL, unix.O_ASYNC))
}

// A command traces its own processes where the kernel keeps it from others, and never the thread that starts it.
func TestACommandTracesItself(t *testing.T) {
	t.Parallel()
	if !HasFilter {
		t.Skip(NoFilter)
	}
	const allow, refused = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	wide, narrow := rules(true, true, true, starter, last), rules(true, true, false, starter, last)
	for call, at := range traceCalls {
		arguments := make([]uint32, at+1)
		require.EqualValues(t, allow, verdict(t, wide, arch, call, arguments...), call)
		require.Equal(t, refused, verdict(t, narrow, arch, call, arguments...), call)
		arguments[at] = starter
		require.Equal(t, refused, verdict(t, wide, arch, call, arguments...), call)
	}
}

// A process sets limits of its own alone; whose limits are read does not matter. Addresses have two halves.
func TestLimitsOfOthersAreRead(t *testing.T) {
	t.Parallel()
	if !HasFilter {
		t.Skip(NoFilter)
	}
	const allow, refused = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	p := rules(true, false, true, starter, last)
	of := func(pid, low, high uint32) uint32 {
		return verdictOf(t, p, map[uint32]uint32{
			atArch: arch, atCall: unix.SYS_PRLIMIT64, argument(0): pid, argument(2): low, argument(2) + 4: high,
		})
	}
	require.EqualValues(t, allow, of(0, 0x1000, 0x7fff))
	require.EqualValues(t, allow, of(77, 0, 0))
	require.Equal(t, refused, of(77, 0x1000, 0))
	require.Equal(t, refused, of(77, 0, 0x7fff))
}

// The kernel's own list of children and what all processes say of their parents agree.
func TestDescendants(t *testing.T) {
	t.Parallel()
	const family = `(echo; sleep 60; :) & ( (echo; sleep 60; :) & echo; sleep 60; :) & echo; wait`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", family)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, unix.Kill(-cmd.Process.Pid, unix.SIGKILL))
		require.Error(t, cmd.Wait())
	})
	_, err = io.ReadFull(out, make([]byte, 4))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(descendants(cmd.Process.Pid)), 3)
	require.Len(t, childrenOf(cmd.Process.Pid), 2)
	require.ElementsMatch(t, childrenOf(cmd.Process.Pid), parents()(cmd.Process.Pid))
}

func TestKilobytes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "status")
	require.NoError(t, os.WriteFile(file, []byte("Name:\tx\nRssAnon:\t   12 kB\nRssFile:\t 900 kB\nRssShmem:\tmany kB\nVmSwap:\t1 kB\n"), 0o600))
	require.EqualValues(t, 13<<10, kilobytes(file, "RssAnon:", "RssShmem:", "VmSwap:"))
	require.Zero(t, kilobytes(file+".gone", "RssAnon:"))
	require.Positive(t, roughly("self"))
	require.Positive(t, exactly("self"))
}

func TestProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"bin/tool": 0o700, "bin/data": 0o600, "more/tool": 0o700} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, mode))
	}
	env := []string{"PATH=/nowhere", "PATH=bin:" + dir + "/more:" + dir + "/bin"}
	for name, want := range map[string]string{
		"tool": "more/tool", "./bin/tool": "bin/tool", "bin/data": "", "data": "", "none": "", "bin": "", "./bin": "",
	} {
		path, found := Program(name, dir, env)
		require.Equal(t, want != "", found, name)
		if found {
			require.Equal(t, want, strings.TrimPrefix(path, dir+"/"), name)
		}
	}
	require.Equal(t, "last", Lookup([]string{"A=first", "AB=x", "A=last"}, "A"))
}

// What a command sets of when and where it runs is its own: the threads of the stage are out of reach, and without a namespace
// everybody else's.
func TestPriorityOfOthersStays(t *testing.T) {
	t.Parallel()
	if !HasFilter {
		t.Skip(NoFilter)
	}
	const allow, refused = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	own, shared := rules(true, true, true, starter, last), rules(false, true, false, starter, last)
	for call, at := range priorityCalls {
		arguments := make([]uint32, at+1)
		for id, want := range map[uint32][2]uint32{
			0: {allow, allow}, 1: {refused, refused}, last: {refused, refused}, last + 1: {allow, refused}, starter: {allow, refused},
		} {
			arguments[at] = id
			require.Equal(t, want, [2]uint32{verdict(t, own, arch, call, arguments...), verdict(t, shared, arch, call, arguments...)},
				"%d %d", call, id)
		}
	}
	for call, user := range everyProcess {
		require.Equal(t, refused, verdict(t, own, arch, call, user, 0))
		require.EqualValues(t, allow, verdict(t, own, arch, call, 1, 0), "%d: its own group", call)
	}
	n, err := lastThread()
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, uint32(os.Getpid()))
}
