// Package machine recognises what a machine lacks for a while: disk, memory, processes, open files. Its input is an error or
// a path, its output a fault with its class, or nil where the work is at fault. It never waits and fixes nothing.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Fault is something that the machine lacks: room on a disk, memory, processes, open files. It can come back by itself.
// Path is where a disk is full; empty for everything else.
type Fault struct{ What, Path string } //nolint:errname // the design's word for a typed failure

// Error names what is missing, and where.
func (f *Fault) Error() string { return strings.TrimSuffix(f.What+" at "+f.Path, " at ") }

// lacking has the disk's errors first. A disk that cannot be read (EIO) is not among them: it does not recover by itself.
var lacking = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN,
}

// Of returns the fault of the machine that an error wraps, or nil. near is where the disk is when the error names no path.
func Of(err error, near string) *Fault {
	var had *Fault
	if errors.As(err, &had) {
		return had
	}
	for i, e := range lacking {
		var at *fs.PathError
		switch {
		case !errors.Is(err, e):
		case i > 1:
			return &Fault{What: e.Error()}
		case errors.As(err, &at):
			return &Fault{e.Error(), at.Path}
		default:
			return &Fault{e.Error(), near}
		}
	}
	return nil
}

// room is how much must fit on a disk that is not full, in bytes.
const room = 1 << 20

// Room returns a *Fault when a directory, or the nearest one above it, has no room for a small file.
func Room(dirs ...string) error {
	for _, dir := range dirs {
		if f := Of(write(dir), dir); dir != "" && f != nil {
			return &Fault{f.What, dir}
		}
	}
	return nil
}

// Missing is how many bytes a disk lacks at least for Room; 0 where it lacks none, or that is not known.
func Missing(path string) int64 {
	for {
		free, ok := Free(path)
		switch above := filepath.Dir(path); {
		case ok:
			return max(0, room-free)
		case above == path:
			return 0
		default:
			path = above
		}
	}
}

func write(dir string) error {
	f, err := os.CreateTemp(dir, ".divisi-room-")
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return write(filepath.Dir(dir))
	}
	if err != nil {
		return fmt.Errorf("try the disk at %s: %w", dir, err)
	}
	_, err = f.Write(make([]byte, room))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
