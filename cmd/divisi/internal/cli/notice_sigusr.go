//go:build unix && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// summarySignals ask for a summary of the run.
var summarySignals = []os.Signal{unix.SIGUSR1}
