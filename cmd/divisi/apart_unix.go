//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart has a process outlive this one and its terminal.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
