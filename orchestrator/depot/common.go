package depot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"

	"divisi/bus"
	"divisi/internal/spec"
)

const (
	// commonDir is, in a state directory, what all processes share that call models from it.
	commonDir = "common"
	// lockTime bounds how long a process waits for the others, lockPause is between two tries.
	lockTime, lockPause = 30 * time.Second, 5 * time.Millisecond
)

// Common is what all processes that use a state directory share: the use of a day, and what services have said of quotas.
type Common struct{ dir string }

// CommonIn is that of a state directory.
func CommonIn(state string) Common { return Common{filepath.Join(state, commonDir)} }

// Dir makes the directory.
func (c Common) Dir() (string, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory that runs share: %w", err)
	}
	return c.dir, nil
}

// turn has the goroutines of this process wait in line for the lock.
var turn sync.Mutex

// change has one process at a time change a file of JSON.
func (c Common) change(name string, file any, change func()) error {
	turn.Lock()
	defer turn.Unlock()
	if _, err := c.Dir(); err != nil {
		return err
	}
	release, err := bus.Lock(c.dir)
	for end := time.Now().Add(lockTime); errors.As(err, new(*bus.LockedError)) && time.Now().Before(end); {
		time.Sleep(lockPause) //nolint:forbidigo // no one reports that another process gives the lock up
		release, err = bus.Lock(c.dir)
	}
	if err != nil {
		return err
	}
	if err = c.read(name, file); err == nil {
		change()
		var data []byte
		if data, err = json.Marshal(file); err == nil {
			err = maybe.WriteFile(filepath.Join(c.dir, name), append(data, '\n'), 0o600)
		}
	}
	return errors.Join(err, release())
}

// read reads a file, which is never half written; one that is not there is empty.
func (c Common) read(name string, file any) error {
	path := filepath.Join(c.dir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, file)
	}
	if err != nil {
		return fmt.Errorf("read %s, which all runs of this machine share: %w; remove it where it is damaged", path, err)
	}
	return nil
}

const limitsName = "limits.json"

// Told keeps what a service has said of a quota, for the other processes.
func (c Common) Told(w spec.Wait) error {
	var list []spec.Wait
	return c.change(limitsName, &list, func() {
		var all Limits
		for _, had := range append(list, w) {
			all.Take(had)
		}
		list = all.List()
	})
}

// News reads what other processes keep, each time that it has changed.
func (c Common) News() func() []spec.Wait {
	var mu sync.Mutex
	var last os.FileInfo
	return func() (list []spec.Wait) {
		mu.Lock()
		defer mu.Unlock()
		info, err := os.Stat(filepath.Join(c.dir, limitsName))
		if err != nil || last != nil && os.SameFile(info, last) && info.ModTime().Equal(last.ModTime()) {
			return nil
		}
		last = info
		if c.read(limitsName, &list) != nil {
			return nil // a service tells again
		}
		return list
	}
}
