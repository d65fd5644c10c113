package environment

import (
	"io/fs"
	"syscall"
)

// changeTime is when a file's inode last changed, which no process can set; 0 where the file system does not know.
func changeTime(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano()
	}
	return 0
}
