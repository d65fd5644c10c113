package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"divisi/internal/sandbox/stage"
)

// maxPasses bounds the hunt for processes that fork while they are hunted.
const maxPasses = 200

// killMarked kills every process of this user whose environment holds all entries (name=value), until none is left, and returns
// how many they were. It finds those that left their process group; the environment is inherited by all of them.
func killMarked(entries ...string) int {
	killed := map[int]struct{}{}
	for range maxPasses {
		if !killPass(entries, killed) {
			break
		}
	}
	return len(killed)
}

// killPass adds to killed what it killed; it returns false when there was nothing.
func killPass(entries []string, killed map[int]struct{}) bool {
	found := false
	for _, pid := range stage.Processes() {
		if pid != os.Getpid() && marked(pid, entries) && killSame(pid, entries) {
			killed[pid], found = struct{}{}, true
		}
	}
	return found
}

// killSame holds on to the process before it looks again, so that a reused id is never hit.
func killSame(pid int, entries []string) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release() //nolint:errcheck // a handle
	return marked(pid, entries) && process.Signal(syscall.SIGKILL) == nil
}

// marked is false for processes of other users and for those that are gone: neither environment can be read.
func marked(pid int, entries []string) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	environ, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil || !carriesAll(environ, entries) {
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
	return true
}

func carriesAll(environ []byte, entries []string) bool {
	return !slices.ContainsFunc(entries, func(e string) bool { return !carries(environ, []byte(e)) })
}

// carries reports whether an environment, as the kernel shows it, has an entry.
func carries(environ, entry []byte) bool {
	return bytes.HasPrefix(environ, append(bytes.Clone(entry), 0)) ||
		bytes.Contains(environ, append(append([]byte{0}, entry...), 0))
}
