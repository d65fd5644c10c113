package service

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// copyTree makes a copy of a directory that a command has filled: files, directories and links with their permissions, but no
// sockets, pipes and devices. Links are not followed.
func copyTree(from, to string) (err error) {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close() // a handle
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer target.Close() // a handle
	type closed struct {
		name string
		mode fs.FileMode
	}
	var dirs []closed // their permissions come last: one may be closed to its owner
	err = fs.WalkDir(source.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			dirs = append(dirs, closed{name, info.Mode().Perm()})
			if name == "." {
				return nil
			}
			return target.Mkdir(name, 0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := source.Readlink(name)
			if err != nil {
				return err
			}
			return target.Symlink(link, name)
		case d.Type().IsRegular():
			return copyFile(source, target, name, info.Mode().Perm())
		}
		return nil
	})
	for i := len(dirs) - 1; err == nil && i >= 0; i-- {
		err = target.Chmod(dirs[i].name, dirs[i].mode)
	}
	return err
}

// copyFile lets the kernel share the blocks where the file system can.
func copyFile(source, target *os.Root, name string, mode fs.FileMode) (err error) {
	in, err := source.Open(name)
	if err != nil {
		return err
	}
	defer in.Close() // only read from
	out, err := target.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Chmod(mode)
}
