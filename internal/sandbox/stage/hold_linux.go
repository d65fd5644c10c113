package stage

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// perform is the life of a keeper. It never returns.
func (h *Hold) perform() {
	err := h.take()
	answer(Started{}, err)
	if err != nil {
		unix.Exit(0)
	}
	for {
		fds, err := receive()
		if fds == nil && err == nil {
			unix.Exit(0) // the parent has ended, or wants no more
		}
		pid := 0
		if err == nil {
			pid, err = h.start(fds)
		}
		for _, fd := range fds {
			_ = unix.Close(fd) // the stage has its own copies
		}
		answer(Started{Process: pid}, err)
	}
}

// take makes the mounts. They are in a file system of their own that lies below the machine's /proc, where no path leads: a
// keeper has no other directory that is certain to be there and that none of its stages needs.
func (h *Hold) take() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	processes, err := unix.OpenTree(unix.AT_FDCWD, below, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("open %s: %w", below, err)
	}
	defer unix.Close(processes) // a path handle
	place, err := newTmpfs(rootSize)
	if err != nil {
		return err
	}
	defer unix.Close(place) // a path handle
	if err := errors.Join(attach(place, below), attach(processes, below), unix.Fchdir(place)); err != nil {
		return err
	}
	for i, m := range h.Mounts {
		if err := m.attachAt(strconv.Itoa(i)); err != nil {
			return fmt.Errorf("make the view of %s: %w", m.To, err)
		}
	}
	if h.Loopback {
		s, err := loopbackUp()
		if err != nil {
			return err
		}
		return unix.Close(s)
	}
	return nil
}

// maxPassed is how many descriptors the kernel passes on in one message.
const maxPassed = 253

// receive gets the descriptors of the next stage; nil where there is none.
func receive() ([]int, error) {
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*maxPassed))
	n, got, flags, _, err := unix.Recvmsg(ControlFD, data, rights, unix.MSG_CMSG_CLOEXEC)
	if errors.Is(err, unix.EINTR) {
		return receive()
	}
	if n <= 0 {
		return nil, nil
	}
	var fds []int
	messages, err := unix.ParseSocketControlMessage(rights[:got])
	if err == nil && len(messages) == 1 {
		fds, err = unix.ParseUnixRights(&messages[0])
	}
	if err == nil && (flags&unix.MSG_CTRUNC != 0 || len(fds) == 0) {
		err = unix.EMFILE
	}
	if err != nil {
		err = fmt.Errorf("receive the resources of a command: %w", err)
	}
	return fds, err
}

// start starts a stage in namespaces of its own, below those of the keeper. It becomes a child of the keeper's parent.
func (h *Hold) start(fds []int) (int, error) {
	files := make([]uintptr, 0, len(fds)+len(h.Mounts))
	for _, fd := range fds {
		files = append(files, uintptr(fd))
	}
	for i := range h.Mounts {
		fd, err := unix.OpenTree(unix.AT_FDCWD, strconv.Itoa(i), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return 0, fmt.Errorf("copy the view of %s: %w", h.Mounts[i].To, err)
		}
		defer unix.Close(fd) // the stage has its own copy
		files = append(files, uintptr(fd))
	}
	attr := Attributes(os.Getuid(), os.Getgid())
	attr.Cloneflags |= unix.CLONE_PARENT
	if h.Loopback {
		attr.Cloneflags &^= unix.CLONE_NEWNET
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{Marker}, &syscall.ProcAttr{
		Dir: "/", Env: Environ(), Files: files, Sys: attr,
	})
	if err != nil {
		return 0, fmt.Errorf("start its stage: %w", err)
	}
	return pid, nil
}

// answer tells the parent. One that is gone needs no answer.
func answer(s Started, err error) {
	if err != nil {
		s.Error = err.Error()
		if failed, ok := errors.AsType[*layerError](err); ok {
			s.Layer = failed.layer
		}
	}
	var text bytes.Buffer
	if gob.NewEncoder(&text).Encode(s) == nil {
		_, _ = unix.Write(ControlFD, text.Bytes())
	}
}

// UserID is the number of user and group inside.
const UserID = 1000

// Attributes are the namespaces of a stage, whose user and group are the given ones outside. The rights are those of the
// namespaces, and it gives them up before it starts the command.
func Attributes(user, group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
			unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: UserID, HostID: user, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: UserID, HostID: group, Size: 1}},
		// The kernel works in the closed directory of a view, with the rights of the process that mounted it: that takes
		// CAP_DAC_OVERRIDE.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE},
	}
}

// Environ is the environment of a stage: it lives for a moment or does next to nothing, and collecting garbage would only cost.
func Environ() []string { return []string{"GOGC=off", "GOMAXPROCS=2", "GOMEMLIMIT=32MiB"} }
