package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/bus"
)

// copying copies files of one directory into another, with their digests.
type copying struct {
	from, to string
	files    map[string]File
	empty    map[string]bool
}

// dir copies the regular files below a directory that keep accepts, by their paths. One that is not there has none. Where a file
// goes meanwhile, as git does with what it packs, all of them are copied again.
func (c *copying) dir(ctx context.Context, dir string, keep func(rel string) bool) (err error) {
	for range maxTries {
		err = c.once(ctx, dir, keep, c.file)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if _, gone := os.Stat(filepath.Join(c.from, dir)); gone != nil {
			return c.forget(dir)
		}
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", dir, err)
	}
	return nil
}

// stream copies a stream. A file of it that goes meanwhile had only messages of runs that were removed: if not, the copy is
// damaged, and is found to be.
func (c *copying) stream(ctx context.Context, dir string) error {
	keep := func(rel string) bool { return bus.IsStored(filepath.Base(rel)) }
	err := c.once(ctx, dir, keep, func(rel string) error {
		err := c.file(rel)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("copy %s: %w", dir, err)
	}
	return nil
}

// once copies the files of a directory anew, each with one.
func (c *copying) once(ctx context.Context, dir string, keep func(rel string) bool, one func(rel string) error) error {
	if err := c.forget(dir); err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(c.from, dir), func(path string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(c.from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return c.directory(rel)
		case !d.Type().IsRegular() || !keep(rel):
			return nil
		}
		return one(rel)
	})
}

func (c *copying) directory(rel string) error {
	c.empty[rel] = true
	delete(c.empty, filepath.Dir(rel))
	return os.MkdirAll(filepath.Join(c.to, rel), 0o700)
}

// file copies one file.
func (c *copying) file(rel string) error {
	to := filepath.Join(c.to, rel)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	from, err := os.Open(filepath.Join(c.from, rel))
	if err != nil {
		return err
	}
	defer from.Close() // read only
	f, err := write(to, from)
	f.Path = filepath.ToSlash(rel)
	c.files[rel] = f
	delete(c.empty, filepath.Dir(rel))
	return err
}

// forget leaves out what was copied of a directory.
func (c *copying) forget(dir string) error {
	below := func(path string) bool { return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator)) }
	maps.DeleteFunc(c.files, func(path string, _ File) bool { return below(path) })
	maps.DeleteFunc(c.empty, func(path string, _ bool) bool { return below(path) })
	return os.RemoveAll(filepath.Join(c.to, dir))
}

// list holds the copied files, in order.
func (c *copying) list() (files []File, empty []string) {
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		files = append(files, c.files[path])
	}
	for path := range c.empty {
		empty = append(empty, filepath.ToSlash(path))
	}
	slices.Sort(empty)
	return files, empty
}

// write writes what a reader has into a file that only its owner can read, and to the disk.
func write(path string, from io.Reader) (f File, err error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return f, err
	}
	sum := sha256.New()
	f.Size, err = io.Copy(io.MultiWriter(to, sum), from)
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, errors.Join(err, to.Sync(), to.Close())
}
