package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// remove deletes a directory and all below it. Directories that may not be written, as tools' caches have them, are made
// writable first.
func remove(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	if unlockErr := unlock(dir); unlockErr != nil {
		return errors.Join(err, unlockErr)
	}
	return os.RemoveAll(dir)
}

// unlock makes every directory at or below dir writable for its owner, and every file readable. It works through a root,
// so that no link, not even one that is put there meanwhile, leads out of dir.
func unlock(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return err
	}
	if err := os.Chmod(dir, info.Mode().Perm()|0o700); err != nil {
		return fmt.Errorf("make %s writable: %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("make %s writable: %w", dir, err)
	}
	return errors.Join(unlockBelow(root, "."), root.Close())
}

func unlockBelow(root *os.Root, dir string) error {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return fmt.Errorf("make %s writable: %w", dir, err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		info, err := root.Lstat(name)
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		wanted := fs.FileMode(0o400)
		if info.IsDir() {
			wanted = 0o700
		}
		if info.Mode().Perm()&wanted != wanted {
			if err := root.Chmod(name, info.Mode().Perm()|wanted); err != nil {
				return fmt.Errorf("make %s writable: %w", name, err)
			}
		}
		if !info.IsDir() {
			continue
		}
		if err := unlockBelow(root, name); err != nil {
			return err
		}
	}
	return nil
}

// tidy sets right what git's own reset leaves as it is: everything named .git is deleted, because git steps around such
// names and a repository planted in a tracked directory would stay; and directories are made writable again.
func tidy(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.EqualFold(d.Name(), ".git") && path != dir {
			if err := remove(path); err != nil {
				return fmt.Errorf("remove %s: %w", path, err)
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&0o700 == 0o700 {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|0o700)
	})
}
