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
	"time"
)

// Fault is something that the machine lacks: room on a disk, memory, processes, open files. It can come back by itself.
// Path is where a disk is full; empty for everything else. Missing is how many bytes are, 0 where that is not known.
type Fault struct { //nolint:errname // the design's word for a typed failure
	What, Path string
	Missing    int64
}

// Error names what is missing, and where.
func (f *Fault) Error() string {
	why := strings.TrimSuffix(f.What+" at "+f.Path, " at ")
	if f.Missing > 0 {
		why += fmt.Sprintf(" (%d KiB more are needed)", (f.Missing+1023)>>10)
	}
	return why
}

// disk is how many of lacking are errors of a disk. EIO is not among them: such a disk does not recover by itself.
const disk = 3

var lacking = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN,
}

// Retry is how often a machine that lacks something is tried.
const Retry = 5 * time.Second

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
		case i >= disk:
			return &Fault{What: e.Error()}
		case errors.As(err, &at):
			return &Fault{What: e.Error(), Path: at.Path}
		default:
			return &Fault{What: e.Error(), Path: near}
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
			return &Fault{What: f.What, Path: dir, Missing: missing(dir, room)}
		}
	}
	return nil
}

// Rooms finds what a machine lacks where something has failed that needed room in some directories; nil is Room.
type Rooms func(dirs ...string) error

// Lack returns it.
func (r Rooms) Lack(dirs ...string) error {
	if r == nil {
		return Room(dirs...)
	}
	return r(dirs...)
}

// A machine takes work while it has at least so many bytes on each disk and in memory. It begins again with twice as many, so
// that what its own work leaves behind and clears away does not have it come and go.
const (
	leastDisk   = 4 << 20
	leastMemory = 32 << 20
)

// Short returns a *Fault when a machine that works in some directories lacks what work needs: a directory is gone or cannot be
// written, its disk is nearly full, or memory is. again is for a machine that does not work, and would begin.
func Short(again bool, dirs ...string) error {
	more := int64(1)
	if again {
		more = 2
	}
	for _, dir := range dirs {
		_, err := os.Stat(dir)
		if n := missing(dir, more*leastDisk); err == nil && n > 0 {
			return &Fault{What: syscall.ENOSPC.Error(), Path: dir, Missing: n}
		}
		if err == nil {
			err = write(dir)
		}
		var why syscall.Errno
		switch f := Of(err, dir); {
		case err == nil:
		case f != nil && f.Path == "": // open files, not this disk
			return f
		case errors.As(err, &why):
			return &Fault{What: why.Error(), Path: dir}
		default:
			return &Fault{What: err.Error(), Path: dir}
		}
	}
	if free := available(); free > 0 && free < more*leastMemory {
		return &Fault{What: syscall.ENOMEM.Error(), Missing: more*leastMemory - free}
	}
	return nil
}

// missing is how many bytes a disk lacks of some; 0 where it lacks none, or that is not known.
func missing(path string, of int64) int64 {
	for {
		free, ok := Free(path)
		switch above := filepath.Dir(path); {
		case ok:
			return max(0, of-free)
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
