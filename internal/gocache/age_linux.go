package gocache

import (
	"io/fs"
	"syscall"
	"time"
)

// lastUse is when a file was read last, as exactly as its file system keeps that, or marked as used.
func lastUse(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Atim.Unix())
	}
	return info.ModTime()
}
