//go:build !unix

package git

import (
	"io/fs"
	"os/exec"
)

// ownGroup does nothing where there are no process groups: git alone is killed, not what it may have started.
func ownGroup(*exec.Cmd) {}

// OwnerOf knows no owners here.
func OwnerOf(fs.FileInfo) (int, bool) { return 0, false }

// mayWrite does not know: publishing will tell.
func mayWrite(string) error { return nil }
