//go:build unix

package files

import (
	"io/fs"
	"syscall"
)

// linkCount is the number of names that a file has.
func linkCount(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // its width differs between systems
	}
	return 1
}
