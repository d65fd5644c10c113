package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	lockName = "lock"
	// lockPatience outlasts the instant for which Attach tests a lock, and the end of a owner that is just closing.
	lockPatience = 400 * time.Millisecond
	lockPoll     = 20 * time.Millisecond
)

// errLocked is what the system's lock call returns when another process has the lock.
var errLocked = errors.New("locked")

// dirLock is an exclusive lock on a directory. The system drops it with the process, however that ends.
type dirLock struct{ file *os.File }

// lockNote is what the lock file reports about its owner. It has no secrets.
type lockNote struct {
	URL     string    `json:"url"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// awaitLock tries for a short time: a program that an owner was starting when it ended has its lock until it begins.
func awaitLock(ctx context.Context, path string) (*dirLock, error) {
	deadline := time.Now().Add(lockPatience)
	for {
		l, err := tryLock(path)
		if err == nil || !errors.Is(err, errLocked) {
			return l, err
		}
		if time.Now().After(deadline) || pause(ctx, nil, lockPoll) != nil {
			return nil, lockedBy(path)
		}
	}
}

func tryLock(path string) (*dirLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot open the lock file: %w", ErrUnavailable, err)
	}
	if err := flock(f, false); err != nil {
		_ = f.Close()
		if errors.Is(err, errLocked) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("%w: cannot lock %s: %w", ErrUnavailable, path, err)
	}
	return &dirLock{file: f}, nil
}

// Taken is when a directory was last taken by a process, as the system notes it. Another time means that it was taken again.
func Taken(dir string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(dir, lockName))
	if err != nil {
		return time.Time{}, fmt.Errorf("look when %s was taken: %w", dir, err)
	}
	return info.ModTime(), nil
}

// Locked reports whether a process owns a directory. A lock that cannot be tested counts as owned.
func Locked(dir string) bool {
	free, err := lockFree(dir)
	return err != nil || !free
}

// Lock locks a directory, so that no process can open it, until release. *LockedError when a process owns it.
func Lock(dir string) (release func() error, err error) {
	l, err := awaitLock(context.Background(), filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

// lockFree reports whether no process owns dir. It shares the lock itself for an instant.
func lockFree(dir string) (bool, error) {
	release, err := share(dir)
	if errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, release()
}

// share keeps a directory from those who would lock it, but not from those who share it, until release. It writes nothing.
// errLocked when a process owns it.
func share(dir string) (release func() error, err error) {
	f, err := os.Open(filepath.Join(dir, lockName))
	if errors.Is(err, os.ErrNotExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: cannot open the lock file: %w", ErrUnavailable, err)
	}
	l := &dirLock{file: f}
	if err := flock(f, true); err != nil {
		if !errors.Is(err, errLocked) {
			err = fmt.Errorf("%w: cannot share %s: %w", ErrUnavailable, f.Name(), err)
		}
		return nil, errors.Join(err, l.release())
	}
	return l.release, nil
}

// note writes who owns the lock into its file, for the error of the next who wants it.
func (l *dirLock) note(h owner) error {
	data, err := json.Marshal(lockNote{URL: h.URL, PID: h.PID, Started: h.Started})
	if err != nil {
		return fmt.Errorf("encode the lock's owner: %w", err)
	}
	return l.write(data)
}

// ownerNote is the note of who owns a directory, or owned it last.
func ownerNote(dir string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("%w: read who owned %s: %w", ErrUnavailable, dir, err)
	}
	return data, nil
}

func (l *dirLock) write(data []byte) error {
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("%w: write %s: %w", ErrUnavailable, l.file.Name(), err)
	}
	if _, err := l.file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("%w: write %s: %w", ErrUnavailable, l.file.Name(), err)
	}
	return nil
}

// release drops the lock at once: a program that is being started here has the open file too until it begins.
func (l *dirLock) release() error {
	if err := errors.Join(unflock(l.file), l.file.Close()); err != nil {
		return fmt.Errorf("release %s: %w", l.file.Name(), err)
	}
	return nil
}

func lockedBy(path string) error {
	locked := &LockedError{Path: path}
	data, err := os.ReadFile(path)
	var h lockNote
	if err == nil && json.Unmarshal(data, &h) == nil && h.PID != 0 {
		locked.PID = h.PID
		locked.Info = fmt.Sprintf("started %s, at %s", h.Started.Format(time.RFC3339), h.URL)
	}
	return locked
}
