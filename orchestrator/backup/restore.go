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
)

// Restore puts a backup into a state directory that is new or empty, where a server goes on with it. Nothing is visible there
// before every file is, as the manifest has it. It returns the position from which the log goes on.
func Restore(ctx context.Context, dir, stateDir string, now time.Time) (m *Manifest, from uint64, err error) {
	if m, err = read(dir); err != nil {
		return nil, 0, err
	}
	stateDir, err = filepath.Abs(stateDir)
	if err == nil {
		err = free(stateDir, m.Server)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(stateDir), 0o700)
	}
	if err != nil {
		return nil, 0, err
	}
	beside, err := os.MkdirTemp(filepath.Dir(stateDir), filepath.Base(stateDir)+".restoring-")
	if err != nil {
		return nil, 0, fmt.Errorf("make a directory beside %s: %w", stateDir, err)
	}
	defer func() {
		if gone := os.RemoveAll(beside); gone != nil {
			err = errors.Join(err, fmt.Errorf("remove the partial restore: %w", gone))
		}
	}()
	if err := m.extract(ctx, dir, beside); err != nil {
		return nil, 0, err
	}
	if from, err = m.advance(ctx, beside, now); err != nil {
		return nil, 0, err
	}
	if err = os.Remove(stateDir); err == nil || errors.Is(err, fs.ErrNotExist) { // an empty one
		err = os.Rename(beside, stateDir)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("put the restored directory in its place: %w", err)
	}
	return m, from, nil
}

// free refuses a state directory that has something.
func free(stateDir, server string) error {
	entries, err := os.ReadDir(stateDir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the state directory: %w", err)
	}
	id, err := os.ReadFile(filepath.Join(stateDir, hostID))
	_, serves := os.Stat(filepath.Join(stateDir, serverDir))
	switch {
	case err == nil && string(id) == server:
		return usage.Errorf("%s still has the server of this backup: stop it and move the directory away, or restore into "+
			"another directory", stateDir)
	case err == nil || serves == nil:
		return usage.Errorf("%s has another server, %q, than that of the backup, %q: nothing is put over it. Restore into "+
			"another directory", stateDir, string(id), server)
	}
	return usage.Errorf("%s is not empty: restore into a new directory", stateDir)
}

// extract copies the files of a backup, each as the manifest has it.
func (m *Manifest) extract(ctx context.Context, dir, to string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	defer root.Close() // read only
	for _, path := range m.Empty {
		if !filepath.IsLocal(path) {
			return usage.Errorf("the backup has a path %.100q: take another one", path)
		}
		if err := os.MkdirAll(filepath.Join(to, path), 0o700); err != nil {
			return fmt.Errorf("restore %s: %w", path, err)
		}
	}
	for i := range m.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := extract(root, &m.Files[i], to); err != nil {
			return err
		}
	}
	return nil
}

func extract(root *os.Root, want *File, to string) error {
	path := filepath.FromSlash(want.Path)
	if !filepath.IsLocal(path) || strings.HasSuffix(want.Path, "/") {
		return usage.Errorf("the backup has a path %.100q: take another one", want.Path)
	}
	from, err := root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return usage.Errorf("the backup lacks %s: take another one. Nothing was restored", want.Path)
	}
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer from.Close() // read only
	at := filepath.Join(to, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return fmt.Errorf("restore %s: %w", want.Path, err)
	}
	got, err := write(at, from)
	if err != nil {
		return fmt.Errorf("restore %s: %w", want.Path, err)
	}
	if got.Size != want.Size || got.SHA256 != want.SHA256 {
		return usage.Errorf("%s of the backup is damaged: it has %d bytes of %d, or others. Take another backup. Nothing was "+
			"restored", want.Path, got.Size, want.Size)
	}
	return nil
}

// advance checks the restored log, and has it go on behind what the server of the backup can have given out since.
func (m *Manifest) advance(ctx context.Context, stateDir string, now time.Time) (from uint64, err error) {
	had, err := bus.Check(StoreDir(stateDir))
	if err != nil {
		return 0, fmt.Errorf("check the restored log: %w", err)
	}
	if had.Position != m.Position || had.Events != m.Events || had.Objects != m.Objects {
		return 0, usage.Errorf("the backup has %d events up to %d and %d objects, and its manifest says %d, %d and %d: take "+
			"another one. Nothing was restored", had.Events, had.Position, had.Objects, m.Events, m.Position, m.Objects)
	}
	if from, err = bus.Advance(ctx, StoreDir(stateDir), now); err != nil {
		return 0, fmt.Errorf("move the log on: %w", err)
	}
	return from, nil
}
