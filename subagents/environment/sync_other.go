//go:build !linux

package environment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// syncAll has every file of a directory written to the disk.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
