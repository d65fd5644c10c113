//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped leaves out what was typed on a terminal and not read yet. Where that fails it is read.
func dropTyped(terminal *os.File) {
	const read = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, read)
}
