//go:build unix

package shim

import (
	"os/exec"
	"syscall"
)

// apart gives a program a session of its own, without a terminal, which ends as a whole.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
