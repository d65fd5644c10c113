//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package cli

import "os"

// dropTyped leaves out what was typed on a terminal and not read yet: no call of this system does.
func dropTyped(*os.File) {}
