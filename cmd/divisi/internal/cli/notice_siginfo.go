//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// summarySignals ask for a summary of the run; a terminal sends SIGINFO for Ctrl-T.
var summarySignals = []os.Signal{unix.SIGUSR1, unix.SIGINFO}
