package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"divisi/internal/sandbox/stage"
)

const (
	// leastFile is the least size at which a directory entry counts, in bytes: empty files fill a disk too.
	leastFile = 4 << 10
	// deepest is how far below a directory that a command may write its files are counted, one descriptor for each step.
	deepest = 256
)

// watchDisk sends what the command's attempt has written when that is too much. The caller calls end when the command has ended.
func (p *process) watchDisk(ctx context.Context) (over <-chan *Excess, end func()) {
	d := p.command.Place.Disk
	if d == nil {
		return nil, func() {}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // a command that is to end can write while it does
	found, done := make(chan *Excess, 1), make(chan struct{})
	disks := p.disks()
	free := disks.free()
	go func() {
		defer close(done)
		tick := time.NewTicker(diskPause)
		defer tick.Stop()
		for e := (*Excess)(nil); ctx.Err() == nil && e == nil; {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			now := disks.free()
			e = p.lookAtDisk(ctx, d, free-now)
			if free = now; e != nil {
				found <- e
			}
		}
	}()
	return found, func() { stop(); <-done }
}

// lookAtDisk measures, where the disks have lost so much that the bound can be near.
func (p *process) lookAtDisk(ctx context.Context, d *Disk, lost int64) *Excess {
	lost, near := d.look(max(0, lost))
	if !near {
		return nil
	}
	size, whole := p.measure(ctx, d)
	if ctx.Err() != nil {
		return nil // the next command of the attempt measures
	}
	return d.take(size, lost, whole)
}

// writes lists what the command can write: files, and directories with what lies in them.
func (p *process) writes() []string {
	c := &p.command
	list := append([]string{}, c.Writable...)
	for _, dir := range c.Place.dirs() {
		if c.Place.writes(dir) && !c.Place.kept(dir) {
			list = append(list, dir)
		}
	}
	if d := c.Place.Downloads; d.Fill && d.Dir != "" {
		list = append(list, d.Dir, d.Modules)
	}
	if k := c.Place.Keeper; k != nil {
		for i := range k.held {
			list = append(list, filepath.Join(k.scratch, strconv.Itoa(i), stage.Upper))
		}
	}
	if p.scratch != "" {
		for i := range 2 { // the views of addDownloads, which need not be there
			list = append(list, filepath.Join(p.scratch, strconv.Itoa(i), stage.Upper))
		}
	}
	return list
}

// disks are directories, one on each file system.
type disks []string

func (p *process) disks() (list disks) {
	known := map[uint64]bool{}
	for _, path := range p.writes() {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil && !known[st.Dev] {
			known[st.Dev] = true
			list = append(list, path)
		}
	}
	return list
}

// free is their free space together, in bytes, with what the files would count that they still have room for.
func (d disks) free() (total int64) {
	for _, path := range d {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) == nil { // else it has gone, which is taken for a loss, and measured
			total += int64(st.Bavail)*st.Bsize + int64(st.Ffree)*leastFile
		}
	}
	return total
}

// measure adds up what has changed since the attempt began in all that the command can write. whole is false where it could not
// read all of it.
func (p *process) measure(ctx context.Context, d *Disk) (size int64, whole bool) {
	m := &tally{ctx: ctx, since: d.since.UnixNano(), most: d.most, known: map[inode]bool{}}
	// These may lie in what the command can write. The kernel closes parts of them; writes has the others.
	apart := []string{p.command.Place.Downloads.Scratch}
	if k := p.command.Place.Keeper; k != nil {
		apart = append(apart, k.scratch)
	}
	for _, dir := range apart {
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil {
			m.known[inode{st.Dev, st.Ino}] = true
		}
	}
	for _, path := range p.writes() {
		m.add(unix.AT_FDCWD, path, 0)
	}
	return m.size, !m.hidden
}

// inode is a file, whatever its names.
type inode struct{ device, number uint64 }

// tally adds up what lies in directories that a command changes meanwhile.
type tally struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call
	// since is a time in nanoseconds; most is how much is enough to know.
	since, most int64
	size        int64
	// known are the directories at the top, and the files with several names that were counted.
	known map[inode]bool
	// hidden reports that a part could not be read.
	hidden bool
}

// add counts what has a name in an open directory, with what lies in it.
func (m *tally) add(in int, name string, depth int) {
	if m.size > m.most || m.ctx.Err() != nil {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstatat(in, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		m.fault(err)
		return
	}
	id, dir := inode{st.Dev, st.Ino}, st.Mode&unix.S_IFMT == unix.S_IFDIR
	if m.known[id] {
		return
	}
	if !dir && st.Nlink > 1 || depth == 0 {
		m.known[id] = true
	}
	if st.Ctim.Nano() >= m.since {
		m.size += max(st.Blocks*512, leastFile)
	}
	if dir {
		m.list(in, name, depth+1)
	}
}

func (m *tally) list(in int, name string, depth int) {
	fd, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		m.fault(err)
		return
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close() // a handle
	if depth > deepest {
		m.hidden = true
		return
	}
	for {
		names, err := dir.Readdirnames(512)
		for _, name := range names {
			m.add(fd, name, depth)
		}
		if err != nil {
			m.hidden = m.hidden || !errors.Is(err, io.EOF)
			return
		}
	}
}

// fault keeps that something could not be read, unless the command has removed or replaced it meanwhile.
func (m *tally) fault(err error) {
	m.hidden = m.hidden || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP)
}
