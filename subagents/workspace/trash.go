package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"divisi/internal/sandbox"

	"github.com/rs/zerolog"
)

// Trash removes directories in the background. What is put into it is renamed at once, so that its old path is free; what a
// process could not remove before its end, the next one that opens the trash removes. Several processes can share one: one of
// them at a time removes what all have put in.
type Trash struct {
	dir  string
	log  zerolog.Logger
	more chan struct{}
	done chan struct{}
}

// OpenTrash makes the directory, which is for the trash alone, and begins to empty it. The caller calls Close.
func OpenTrash(dir string, log zerolog.Logger) (*Trash, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the trash: %w", err)
	}
	t := &Trash{dir: dir, log: log, more: make(chan struct{}, 1), done: make(chan struct{})}
	t.more <- struct{}{}
	go func() {
		defer close(t.done)
		for range t.more {
			t.empty()
		}
	}()
	return t, nil
}

// Put moves a directory into the trash; one that does not exist is no error. On another file system it is removed at once.
func (t *Trash) Put(path string) error {
	err := os.Rename(path, filepath.Join(t.dir, rand.Text()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Remove(path)
	}
	select {
	case t.more <- struct{}{}:
	default: // it is told already
	}
	return nil
}

// Close waits until the trash is empty, but no longer than most, and reports whether it is. After a second it calls slow,
// once. It is called once, when nothing is put in any more.
func (t *Trash) Close(most time.Duration, slow func()) bool {
	close(t.more)
	late, over := time.NewTimer(min(time.Second, most)), time.NewTimer(most)
	defer late.Stop()
	defer over.Stop()
	for {
		select {
		case <-t.done:
			return true
		case <-over.C:
			return false // the goroutine ends with the process
		case <-late.C:
			slow()
		}
	}
}

// empty removes what is in the trash, and what is put in meanwhile.
func (t *Trash) empty() {
	lock, err := sandbox.TryLock(t.dir + ".lock")
	if err != nil {
		t.log.Warn().Err(err).Msg("the trash is not emptied")
	}
	if lock == nil {
		return
	}
	defer lock.Close() // and with it the lock
	for removed := true; removed; {
		entries, err := os.ReadDir(t.dir)
		if err != nil {
			t.log.Warn().Err(err).Msg("the trash cannot be read")
		}
		removed = false
		for _, e := range entries {
			if err := Remove(filepath.Join(t.dir, e.Name())); err != nil {
				t.log.Warn().Err(err).Msg("a directory in the trash cannot be removed")
			} else {
				removed = true
			}
		}
	}
}
