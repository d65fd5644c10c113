package sandbox

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// lastSetup is what a file beside the caches remembers of the last setup of the repository, in whatever run it was. No command
// can write the file.
type lastSetup struct {
	// Begun is the mark of a setup that has not ended well, or that left what was not to be remembered.
	Begun string `json:"begun,omitempty"`
	// Key stands for everything that the setup depended on; Left are files and directories that it left in the caches.
	Key  string   `json:"key,omitempty"`
	Left []string `json:"left,omitempty"`
}

func (c Caches) setupFile() string { return filepath.Join(c.Dir, "setup.json") }

// setupDirs are the caches that a setup fills and that the commands after it may need.
var setupDirs = []string{"downloads", "modules", string(Gates) + "/xdg"}

// HasSetup reports whether the last setup of the repository had that key, and what it left in the caches is still there.
func (c Caches) HasSetup(key string) (bool, error) {
	last, err := c.lastSetup()
	if err != nil || key == "" || last.Key != key {
		return false, err
	}
	return !slices.ContainsFunc(last.Left, func(name string) bool {
		_, err := os.Lstat(filepath.Join(c.Dir, name))
		return err != nil
	}), nil
}

// BeginSetup forgets the last setup: the one that begins may change what that one left. Its end remembers it under a key, unless
// the key is empty or another setup of the repository has begun meanwhile.
func (c Caches) BeginSetup() (end func(key string) error, err error) {
	mark := rand.Text()
	if err := c.writeSetup(lastSetup{Begun: mark}); err != nil {
		return nil, err
	}
	return func(key string) error {
		last, err := c.lastSetup()
		switch {
		case err != nil:
			return err
		case last.Begun != mark: // neither knows what the other has changed
			return c.writeSetup(lastSetup{Begun: mark})
		case key == "":
			return nil
		}
		left, err := c.setupLeft()
		if err != nil {
			return err
		}
		return c.writeSetup(lastSetup{Key: key, Left: left})
	}, nil
}

func (c Caches) lastSetup() (last lastSetup, err error) {
	data, err := os.ReadFile(c.setupFile())
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err != nil {
		return last, fmt.Errorf("read which setup was the last: %w", err)
	}
	if json.Unmarshal(data, &last) != nil {
		return lastSetup{}, nil // a file that was cut short remembers none
	}
	return last, nil
}

func (c Caches) writeSetup(last lastSetup) error {
	data, err := json.Marshal(last)
	if err == nil {
		err = os.MkdirAll(c.Dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(c.setupFile(), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember the last setup: %w", err)
	}
	return nil
}

// setupLeft lists what the directories of a setup have, two levels deep: enough to notice that a cache was removed.
func (c Caches) setupLeft() (left []string, err error) {
	for _, dir := range setupDirs {
		for _, pattern := range []string{"*", "*/*"} {
			found, err := fs.Glob(os.DirFS(c.Dir), dir+"/"+pattern)
			if err != nil {
				return nil, fmt.Errorf("list what setup left: %w", err)
			}
			left = append(left, found...)
		}
	}
	return left, nil
}
