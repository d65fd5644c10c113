package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// ErrReadOnly is a repository that a result could not be published to.
var ErrReadOnly = errors.New("this repository cannot be written")

// Writable returns nil where objects and branches could be added to the repository, else an ErrReadOnly that says where not. It
// writes nothing.
func (c *Checkout) Writable() error {
	for _, dir := range []string{filepath.Join(c.Objects, "pack"), filepath.Join(c.CommonDir, "refs", "heads"), c.CommonDir} {
		if err := mayWrite(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s: %w", ErrReadOnly, dir, err)
		}
	}
	return nil
}
