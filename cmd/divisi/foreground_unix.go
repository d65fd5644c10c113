//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground reports whether this process may read from its terminal: one in the background would be stopped by it.
func foreground(in any) bool {
	f, ok := in.(*os.File)
	if !ok {
		return true
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error: it is not the terminal of this session, and stops nothing
}
