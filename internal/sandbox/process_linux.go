package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPasses bounds the hunt for processes that fork while they are hunted.
const maxPasses = 200

// isolate gives the command a session, and so a process group, of its own without a terminal, and lets it die with us.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the process has ended, without collecting its status.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// The group may be gone already: then there is nothing to do, and no other error can occur for an own child's group.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func killGroup(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

// killMarked kills every process of this user whose environment holds name=value, until none is left, and returns how
// many they were. It finds those that left their process group; the environment is inherited by all of them.
func killMarked(name, value string) int {
	entry, killed := []byte(name+"="+value), map[int]struct{}{}
	for range maxPasses {
		if !killPass(entry, killed) {
			break
		}
	}
	return len(killed)
}

// killPass adds to killed what it killed; it returns false when there was nothing.
func killPass(entry []byte, killed map[int]struct{}) bool {
	found := false
	for _, pid := range processes() {
		if pid != os.Getpid() && marked(pid, entry) && killSame(pid, entry) {
			killed[pid], found = struct{}{}, true
		}
	}
	return found
}

// killSame holds on to the process before it looks again, so that a reused id is never hit.
func killSame(pid int, entry []byte) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release() //nolint:errcheck // a handle
	return marked(pid, entry) && process.Signal(syscall.SIGKILL) == nil
}

// marked is false for processes of other users and for those that are gone: neither environment can be read.
func marked(pid int, entry []byte) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	environ, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil || !bytes.Contains(environ, entry) {
		return false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Getuid() {
		return false
	}
	return carries(environ, entry)
}

// carries says whether an environment, as the kernel shows it, has an entry.
func carries(environ, entry []byte) bool {
	return bytes.HasPrefix(environ, append(bytes.Clone(entry), 0)) ||
		bytes.Contains(environ, append(append([]byte{0}, entry...), 0))
}
