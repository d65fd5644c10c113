package sandbox

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"divisi/internal/sandbox/stage"
)

// ownID is the user and group that root's commands run as on the machine. No user has this number: systemd's list of numbers
// leaves 1879048192 to 2147352575 unused, and no other allocator goes that high. So they own nothing, not even what "nobody"
// may own.
const ownID = 1943000000

// ownUser reports whether commands run as another user than Divisi's own.
func (l Level) ownUser() bool { return os.Geteuid() == 0 && l.have(OwnUser) && l.have(Namespaces) }

// openTrees opens the parts of a root that are not the system's, so that what is root's on the disk is the command's own inside:
// files stay root's, and need not be handed over and back. Only root can do it, and only outside the namespaces of the command.
// It returns the parts, which name their descriptors, without those that need not be there and cannot be opened.
func openTrees(mounts []stage.Mount) (opened []stage.Mount, trees []*os.File, err error) {
	users, err := rootAsOwn()
	if err != nil {
		return nil, nil, err
	}
	open := func(m stage.Mount) (fd int, err error) {
		tree, err := stage.OpenTree(m, users)
		if err != nil && !m.Write {
			tree, err = stage.OpenTree(m, 0) // it is only read, as others may
		}
		if err != nil {
			return 0, err
		}
		trees = append(trees, os.NewFile(uintptr(tree), m.From))
		return stage.FirstTree + len(trees) - 1, nil
	}
	for _, m := range mounts {
		if m.From == "" || slices.ContainsFunc(system(), func(s stage.Mount) bool { return s.From == m.From && s.To == m.To }) {
			opened = append(opened, m)
			continue
		}
		m.FD, err = open(m)
		m.Layers = slices.Clone(m.Layers)
		for i := range m.Layers {
			if err == nil {
				m.Layers[i].FD, err = open(m.Layers[i])
			}
		}
		if err != nil && m.Maybe {
			continue
		}
		if err != nil {
			return nil, trees, &layerError{OwnUser, fmt.Errorf("hand %s to a user that is not root: %w", m.From, err)}
		}
		opened = append(opened, m)
	}
	return opened, trees, nil
}

// rootAsOwn is a user namespace in which root is ownID. No process is ever in it: it is only a table for mounts.
var rootAsOwn = sync.OnceValues(func() (int, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make a user namespace: %w", err)
	}
	defer write.Close() // a pipe that nothing is written to
	mapping := []syscall.SysProcIDMap{{ContainerID: 0, HostID: ownID, Size: 1}}
	// The stage finds a pipe in the place of what to run, and ends when it closes.
	holder, err := startStage(&syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: mapping, GidMappings: mapping, GidMappingsEnableSetgroups: true,
	}, []*os.File{nil, nil, nil, read})
	_ = read.Close() // the stage has its own copy
	if err != nil {
		return 0, fmt.Errorf("make a user namespace: %w", err)
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/user", holder.Pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	_ = holder.Kill()    // it waits for nothing else
	_, _ = holder.Wait() // of having been killed
	if err != nil {
		return 0, fmt.Errorf("open a user namespace: %w", err)
	}
	return fd, nil
})
