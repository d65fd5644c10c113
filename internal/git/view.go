package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// view is a throw-away repository directory through which a user's repository is read. It shares the user's refs by
// links, borrows the objects and has settings of its own: the user's settings, hooks and attributes are not part of it.
type view struct {
	remove func() error
	dir    Dir
}

// openView makes a view of a checkout. The caller closes it.
func (c *Checkout) openView() (*view, error) {
	tmp, remove, err := scratch()
	if err != nil {
		return nil, fmt.Errorf("make a view of %s: %w", c.Top, err)
	}
	v := &view{remove: remove, dir: Dir{GitDir: filepath.Join(tmp, "view")}}
	if err := c.skeleton().write(v.dir.GitDir); err != nil {
		return nil, errors.Join(fmt.Errorf("make a view of %s: %w", c.Top, err), v.close())
	}
	return v, nil
}

func (c *Checkout) skeleton() skeleton {
	return skeleton{
		format: c.format, head: c.head, borrow: c.borrow(), shallow: c.shallow, exclude: c.exclude, attributes: asStored,
		links: map[string]string{
			"refs":        filepath.Join(c.CommonDir, "refs"),
			"packed-refs": filepath.Join(c.CommonDir, "packed-refs"),
			"logs":        filepath.Join(c.GitDir, "logs"),
		},
	}
}

func (v *view) close() error { return v.remove() }

// copyIndex gives the view a copy of the user's index, so that nothing can refresh the original. The copy keeps the
// time of the original: git compares it with the files' times to know which of them it must read again.
func (v *view) copyIndex(gitDir string) error {
	shared, err := filepath.Glob(filepath.Join(escapeGlob(gitDir), "sharedindex.*"))
	if err != nil {
		return fmt.Errorf("look for parts of the index: %w", err)
	}
	for _, path := range append(shared, filepath.Join(gitDir, "index")) {
		if err := copyFile(filepath.Join(v.dir.GitDir, filepath.Base(path)), path); err != nil {
			return fmt.Errorf("copy the index: %w", err)
		}
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// copyFile copies a regular file with its time; a file that does not exist is no error.
func copyFile(to, from string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", from)
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	if info, err = src.Stat(); err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		return errors.Join(err, dst.Close())
	}
	if err := dst.Close(); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
