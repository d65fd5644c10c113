package environment

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll has everything of a directory's file system written to the disk: one call for all files.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
