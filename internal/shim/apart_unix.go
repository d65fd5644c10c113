//go:build unix

package shim

import (
	"os/exec"
	"syscall"
)

// Apart gives a program a session of its own, without a terminal, which ends as a whole.
func Apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
