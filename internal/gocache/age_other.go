//go:build !linux

package gocache

import (
	"io/fs"
	"time"
)

// lastUse is when a file was marked as used: nothing renews its time on this system.
func lastUse(info fs.FileInfo) time.Time { return info.ModTime() }
