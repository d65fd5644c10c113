//go:build !unix

package cli

import (
	"os"
	"os/exec"
)

func inGroup(*exec.Cmd) {}

// summarySignals ask for a summary of the run: none here.
var summarySignals []os.Signal

// apart has a process outlive this one, as every process here does.
func apart(*exec.Cmd) {}

// Foreground reports whether this process may read from its terminal.
func Foreground(any) bool { return true }
