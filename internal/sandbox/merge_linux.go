package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// opaque is the mark of a directory that hides what lower layers have in it.
const opaque = "user.overlay.opaque"

// Merge makes one layer of several, the first on top, in a new directory; below is what they all lie over. It has links to their
// files, which must not change any more: views of these layers can be open meanwhile.
func Merge(to string, layers []string, below string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return fmt.Errorf("merge layers: %w", err)
	}
	for _, layer := range slices.Backward(layers) {
		err := filepath.WalkDir(layer, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == layer {
				return err
			}
			name := path[len(layer):]
			if _, err := os.Lstat(filepath.Join(below, name)); err != nil && d.Type()&fs.ModeCharDevice != 0 {
				return os.RemoveAll(filepath.Join(to, name)) // the mark of a removed file, with none to hide
			}
			return mergeEntry(filepath.Join(to, name), path, d.IsDir())
		})
		if err != nil {
			return fmt.Errorf("merge layers: %w", err)
		}
	}
	return nil
}

// mergeEntry puts an entry of a layer over what lower ones have in its place.
func mergeEntry(to, from string, dir bool) error {
	if !dir {
		return errors.Join(os.RemoveAll(to), os.Link(from, to))
	}
	mark := make([]byte, 1)
	n, err := unix.Lgetxattr(from, opaque, mark)
	hides := err == nil && n == 1 && mark[0] == 'y'
	if info, err := os.Lstat(to); err == nil && info.IsDir() && !hides {
		return nil
	}
	if err := errors.Join(os.RemoveAll(to), os.Mkdir(to, 0o700)); err != nil || !hides {
		return err
	}
	return unix.Lsetxattr(to, opaque, mark, 0)
}
