package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped leaves out what was typed on a terminal and not read yet. Where that fails it is read.
func dropTyped(terminal *os.File) {
	_ = unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
