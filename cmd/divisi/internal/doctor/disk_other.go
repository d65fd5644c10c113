//go:build !linux

package doctor

// freeAt returns false: free space is measured on Linux only.
func freeAt(string) (space, bool) { return space{}, false }
