//go:build !linux

package machine

// Free does not know here; a full disk then shows by errors alone.
func Free(string) (free int64, ok bool) { return 0, false }
