//go:build unix

package main

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// inGroup has a command end with all processes of its group.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return unix.Kill(-c.Process.Pid, unix.SIGKILL) }
}
