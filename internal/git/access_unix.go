//go:build unix

package git

import "golang.org/x/sys/unix"

// mayWrite asks the system whether this process may make files in a directory; it makes none.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
