package login

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stale is the age from which a lock is that of a process that has ended: its holder renews it. again is how often one that is
// held is tried.
const (
	stale = 10 * time.Second
	again = 50 * time.Millisecond
)

// lock takes the locks with which Claude Code refreshes a login and writes its file: directories beside it, which exist while
// they are held.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	var renewing sync.WaitGroup
	done := make(chan struct{})
	unlock = func() {
		close(done)
		renewing.Wait()
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, path := range []string{in(".oauth_refresh.lock"), dir + ".lock", in(".storage-write.lock")} {
		mine, err := hold(ctx, path)
		if err != nil {
			unlock()
			return nil, err
		}
		renewing.Go(func() { keep(path, mine, done) })
	}
	return unlock, nil
}

// keep renews a lock until done, and removes it then. One that another process has taken is that one's.
func keep(path string, mine os.FileInfo, done <-chan struct{}) {
	renew := time.NewTicker(stale / 4)
	defer renew.Stop()
	for {
		ended, now := false, time.Time{}
		select {
		case <-done:
			ended = true
		case now = <-renew.C:
		}
		switch at, err := os.Stat(path); {
		case err != nil || !os.SameFile(at, mine) || !at.ModTime().Equal(mine.ModTime()):
			return
		case ended:
			_ = os.Remove(path) // one that is left is stale soon
			return
		}
		_ = os.Chtimes(path, now, now)
		if at, err := os.Stat(path); err == nil {
			mine = at
		}
	}
}

// hold makes the directory of a lock, once no process holds it.
func hold(ctx context.Context, path string) (os.FileInfo, error) {
	for {
		err := os.Mkdir(path, 0o700)
		if err == nil {
			return os.Stat(path)
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > stale {
			_ = os.Remove(path) // another process may have been first
			continue
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is held by another program: %w", path, ctx.Err())
		}
	}
}
