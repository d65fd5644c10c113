//go:build !unix

package main

import (
	"os"
	"os/exec"
)

func inGroup(*exec.Cmd) {}

// summarySignals ask for a summary of the run: none here.
var summarySignals []os.Signal
