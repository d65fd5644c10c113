//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// inGroup has a command end with all processes of its group.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return unix.Kill(-c.Process.Pid, unix.SIGKILL) }
}

// apart has a process outlive this one and its terminal.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Foreground reports whether this process may read from its terminal: one in the background would be stopped by it.
func Foreground(in any) bool {
	f, ok := in.(*os.File)
	if !ok {
		return true
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error: it is not the terminal of this session, and stops nothing
}
