package grade

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxWatched bounds the changed files that are watched: each makes two events, and the kernel keeps 16,384. Of files that nothing
// is to open there may be more.
const maxWatched = 6000

// What a watch waits for: an opening, or anything that can give a process the content, also without one.
const (
	opening = unix.IN_OPEN
	knowing = unix.IN_OPEN | unix.IN_ATTRIB | unix.IN_MOVE_SELF // a hard link is an attribute
)

// watch waits for the first opening of each of some files. It names no process: whatever opens them counts.
type watch struct {
	fd    int
	names map[int32]string
	lack  map[string]string
}

// newWatch watches files, the first ones where not all can be. What cannot be watched is in the lack of what end returns.
func newWatch(dir string, names []string, events uint32) *watch {
	w := &watch{names: map[int32]string{}, lack: map[string]string{}}
	var err error
	if w.fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		w.fd = -1
		w.lose(names, fmt.Sprintf("no inotify on this machine: %v", err))
		return w
	}
	for i, name := range names {
		if i == maxWatched && events == opening {
			w.lose(names[i:], fmt.Sprintf("more than %d changed files: the others are not watched", maxWatched))
			break
		}
		wd, err := unix.InotifyAddWatch(w.fd, filepath.Join(dir, name), events|unix.IN_ONESHOT|unix.IN_DONT_FOLLOW)
		if errors.Is(err, unix.ENOSPC) {
			w.lose(names[i:], "this machine's limit of inotify watches is reached: raise fs.inotify.max_user_watches")
			break
		}
		if err != nil {
			w.lack[name] = fmt.Sprintf("inotify: %v", err)
			continue
		}
		w.names[int32(wd)] = name
	}
	return w
}

func (w *watch) lose(names []string, why string) {
	for _, name := range names {
		w.lack[name] = why
	}
}

// end drops the watches and returns what was opened.
func (w *watch) end() opened {
	o := opened{paths: map[string]bool{}, lack: w.lack}
	if w.fd < 0 {
		return o
	}
	defer unix.Close(w.fd) // nothing was written
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 { // EAGAIN: there is nothing more
			return o
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			event := (*unix.InotifyEvent)(unsafe.Pointer(&buffer[at])) //nolint:gosec // as the kernel writes it
			at += unix.SizeofInotifyEvent + int(event.Len)
			switch name := w.names[event.Wd]; {
			case event.Mask&unix.IN_Q_OVERFLOW != 0:
				w.lose(slices.Collect(maps.Values(w.names)), "more openings than inotify keeps")
			case event.Mask&knowing != 0:
				o.paths[name] = true
			}
		}
	}
}
