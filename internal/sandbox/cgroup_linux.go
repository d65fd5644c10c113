package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"divisi/internal/sandbox/stage"
)

// ownCgroup is the control group (version 2) that this process may divide among commands; empty where it may not. It may where
// the user delegated one to it alone, as "systemd-run --user --scope -p Delegate=yes divisi run …" does.
var ownCgroup = sync.OnceValue(func() string { return divide("/sys/fs/cgroup", "/proc/self/cgroup", os.Getpid()) })

// controllers are the bounds of a command.
var controllers = []string{"memory", "pids"}

// divide moves this process down into a group of its own, so that the one above can have others beside it: a group with processes
// has no divisions. self tells the group, below root.
func divide(root, self string, pid int) string {
	_, path, found := strings.Cut(text(self), "0::")
	path, _, _ = strings.Cut(path, "\n")
	home := filepath.Join(root, path)
	can := strings.Fields(text(filepath.Join(home, "cgroup.controllers")))
	alone := strings.TrimSpace(text(filepath.Join(home, "cgroup.procs"))) == strconv.Itoa(pid)
	if !found || !alone || slices.ContainsFunc(controllers, func(name string) bool { return !slices.Contains(can, name) }) {
		return ""
	}
	down := filepath.Join(home, "divisi")
	if os.Mkdir(down, 0o755) != nil || write(down, "cgroup.procs", strconv.Itoa(pid)) != nil ||
		write(home, "cgroup.subtree_control", "+"+strings.Join(controllers, " +")) != nil {
		return "" // it was not delegated after all; the watch of the stage bounds commands then
	}
	return home
}

func write(dir, name, value string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644)
}

// box is the control group of one command. The methods of nil do nothing.
type box struct {
	dir *os.File
}

// newBox makes the group of a command, where there can be one, and takes from the limits what it bounds itself. A group that was
// killed once cannot be used again, so each command gets its own.
func newBox(id string, limits *stage.Limits) (*box, error) {
	home := ownCgroup()
	if home == "" {
		return nil, nil
	}
	return makeBox(filepath.Join(home, "command-"+id), limits)
}

func makeBox(path string, limits *stage.Limits) (*box, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("make the control group of a command: %w", err)
	}
	bounds := map[string]uint64{"pids.max": limits.Processes, "memory.oom.group": 1}
	if limits.Memory > 0 {
		bounds["memory.max"], bounds["memory.swap.max"] = uint64(limits.Memory), 0
	}
	for name, most := range bounds {
		if err := write(path, name, strconv.FormatUint(most, 10)); err != nil && name != "memory.swap.max" { // not all have swap
			_ = os.Remove(path) // it is empty
			return nil, fmt.Errorf("bound the control group of a command: %w", err)
		}
	}
	limits.Memory = 0
	dir, err := os.Open(path)
	if err != nil {
		_ = os.Remove(path) // it is empty
		return nil, fmt.Errorf("open the control group of a command: %w", err)
	}
	return &box{dir}, nil
}

// enterWith has a process start in the group.
func (b *box) enterWith(attr *syscall.SysProcAttr) {
	if b != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(b.dir.Fd())
	}
}

// add moves a process into the group that has not started another one yet.
func (b *box) add(pid int) error {
	if err := write(b.dir.Name(), "cgroup.procs", strconv.Itoa(pid)); err != nil {
		return fmt.Errorf("put a command into its control group: %w", err)
	}
	return nil
}

// outOfMemory reports whether the kernel killed for the bound.
func (b *box) outOfMemory() bool {
	if b == nil {
		return false
	}
	for line := range strings.Lines(text(filepath.Join(b.dir.Name(), "memory.events"))) {
		if count, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok && count != "0" {
			return true
		}
	}
	return false
}

// close removes the group. The kernel may take a moment to see that the last process has gone.
func (b *box) close() {
	if b == nil {
		return
	}
	_ = b.dir.Close() // a handle
	for range 100 {
		if err := syscall.Rmdir(b.dir.Name()); !errors.Is(err, syscall.EBUSY) {
			return
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // there is nothing to wait for
	}
}
