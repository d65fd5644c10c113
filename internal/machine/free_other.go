//go:build !linux

package machine

// Free does not know here; a full disk then shows by errors alone.
func Free(string) (free int64, ok bool) { return 0, false }

// Memory does not know here.
func Memory() uint64 { return 0 }

func available() int64 { return 0 }
