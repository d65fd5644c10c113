package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/store"
)

// maxTries bounds how often a directory is copied again because a file of it went meanwhile.
const maxTries = 5

// serverDir is, in a state directory, that of its server; hostID has the id of the state directory.
const (
	serverDir = "serve"
	hostID    = "host/id"
)

// StoreDir is where the server of a state directory has its store.
func StoreDir(stateDir string) string { return filepath.Join(stateDir, serverDir, "bus") }

// Save copies the server of a state directory into a directory that is new or empty. The server may serve meanwhile: the log is
// copied first, then what it refers to, so that what the copied log names is in the copy.
func Save(ctx context.Context, stateDir, dir, version string, now time.Time) (*Manifest, error) {
	id, err := os.ReadFile(filepath.Join(stateDir, hostID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage.Errorf("%s has no server: name the state directory of one", stateDir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the id of the server: %w", err)
	}
	if _, err := os.Stat(StoreDir(stateDir)); err != nil {
		return nil, usage.Errorf("the server of %s has no log of its own: the operator of the NATS cluster backs that "+
			"up", stateDir)
	}
	if err := vacant(stateDir, dir); err != nil {
		return nil, err
	}
	c := &copying{from: stateDir, to: dir, files: map[string]File{}, empty: map[string]bool{}}
	had, err := c.store(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := c.runs(ctx)
	if err == nil {
		err = c.contents(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"serve/members.json", "serve/server.pem", "serve/audit.jsonl", "serve/worker.yaml", hostID} {
		if err := c.file(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // nothing may have joined yet
			return nil, err
		}
	}
	m := &Manifest{
		Format: Format, Version: version, Server: string(id), Time: now.UTC(),
		Position: had.Position, Events: had.Events, Objects: had.Objects, Runs: runs,
	}
	m.Files, m.Empty = c.list()
	return m, m.write(dir)
}

// vacant makes the directory of a backup, and refuses one that has something, or that is in what is copied.
func vacant(stateDir, dir string) error {
	state, err := filepath.Abs(stateDir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return fmt.Errorf("find the directory of the backup: %w", err)
	}
	if rel, err := filepath.Rel(state, dir); err == nil && filepath.IsLocal(rel) {
		return usage.Errorf("%s is in the state directory %s: name a directory elsewhere, best on another disk", dir, state)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of the backup: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look into the directory of the backup: %w", err)
	}
	if len(entries) > 0 {
		return usage.Errorf("%s is not empty: name a new directory for each backup", dir)
	}
	return nil
}

// store copies the streams, and reads every message of the copy. A run may be removed meanwhile: then they are copied again.
func (c *copying) store(ctx context.Context) (had bus.Contents, err error) {
	for range maxTries {
		for _, stream := range bus.Stored() {
			if err = c.stream(ctx, filepath.Join(serverDir, "bus", stream)); err != nil {
				return had, err
			}
		}
		if had, err = bus.Check(StoreDir(c.to)); !errors.Is(err, bus.ErrDamaged) {
			break
		}
	}
	if err != nil {
		return had, fmt.Errorf("check the copy of the log: %w", err)
	}
	return had, nil
}

// runs copies of each run that was submitted its description and its repositories, and counts them. What the log has of it, as
// its summary, would be newer than the copy of that.
func (c *copying) runs(ctx context.Context) (n int, err error) {
	of := store.Dir{Path: c.from}
	ids, err := of.IDs()
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		m, err := store.ReadMeta(of.Run(id))
		if err != nil || m.Order == "" {
			continue // not a run of the server
		}
		for _, name := range []string{"repo.git", "modules"} {
			if err := c.dir(ctx, filepath.Join("runs", id, name), settled); err != nil {
				return n, err
			}
		}
		switch err := c.file(filepath.Join("runs", id, "run.json")); {
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			if err := c.forget(filepath.Join("runs", id)); err != nil {
				return n, err
			}
		case err != nil:
			return n, err
		default:
			n++
		}
	}
	return n, nil
}

// contents copies what Git LFS keeps of the repositories: workers get it from the host.
func (c *copying) contents(ctx context.Context) error {
	found, err := filepath.Glob(filepath.Join(c.from, "caches", "*", "checkout", "lfs"))
	if err != nil {
		return fmt.Errorf("list the contents of Git LFS: %w", err)
	}
	for _, path := range found {
		rel, err := filepath.Rel(c.from, path)
		if err == nil {
			err = c.dir(ctx, rel, settled)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settled leaves out what git and others are still writing.
func settled(rel string) bool {
	name := filepath.Base(rel)
	return !strings.HasSuffix(name, ".lock") && !strings.HasPrefix(name, "tmp_") && !strings.HasPrefix(name, ".tmp")
}
