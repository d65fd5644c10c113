package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/subagents/workspace"
)

const (
	// cacheLife is how long caches stay that no run uses.
	cacheLife = 30 * 24 * time.Hour
	// removeTime bounds how long the end of a run waits until its work trees are removed; the next run removes the rest.
	removeTime = 2 * time.Second
)

// cachesOf is the directory of a repository's caches. The demo's repository is another each time, and has the same ones.
func (g *globals) cachesOf(c *git.Checkout, demo bool) (string, error) {
	id, err := c.Identity()
	if demo {
		id = "demo"
	}
	return filepath.Join(g.store().Caches(), id), err
}

// keep holds the caches of the run, and begins to remove what earlier runs left in the trash and caches that none has used for
// long. release waits for a moment until what is in the trash by then is removed.
func (h *holder) keep() (release func(), err error) {
	unlock, err := sandbox.HoldCaches(h.caches)
	if err != nil {
		return nil, err
	}
	if h.trash, err = workspace.OpenTrash(h.g.store().Trash(), h.g.log); err != nil {
		unlock()
		return nil, err
	}
	drop := func(dir string) error {
		h.g.log.Info().Str("caches", dir).Msg("caches that no run has used for 30 days are removed")
		return h.trash.Put(dir)
	}
	if err := sandbox.DropCaches(h.g.store().Caches(), now().Add(-cacheLife), drop); err != nil {
		h.g.log.Warn().Err(err).Msg("old caches were left")
	}
	return func() {
		unlock()
		if !h.trash.Close(removeTime, func() { fmt.Fprintln(h.g.err, "removing work trees…") }) {
			fmt.Fprintf(h.g.err, "The next run removes the rest of the work trees, in %s\n", h.g.store().Trash())
		}
	}, nil
}

// sizeTime bounds how long the size of a directory is counted.
const sizeTime = 2 * time.Second

// caches reports how much disk the caches use, and what waits to be removed.
func (d *doctor) caches(ctx context.Context) []finding {
	entries, err := os.ReadDir(d.store().Caches())
	if err != nil && !os.IsNotExist(err) {
		return []finding{bad("caches", "choose a directory that you can read with --state-dir", "%v", err)}
	}
	repositories := 0
	for _, e := range entries {
		if e.IsDir() {
			repositories++
		}
	}
	found := []finding{fine("caches", "%d in %s, one for each repository, %s; a run removes those that none has used for 30 days",
		repositories, d.store().Caches(), sizeOf(ctx, d.store().Caches()))}
	if left, err := os.ReadDir(d.store().Trash()); err == nil && len(left) > 0 {
		found = append(found, fine("trash", "%s in %s; the next run removes it", sizeOf(ctx, d.store().Trash()), d.store().Trash()))
	}
	return found
}

// sizeOf words the size of the files below a directory.
func sizeOf(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, sizeTime)
	defer cancel()
	size, err := bytesBelow(ctx, dir)
	if err != nil {
		return "more than " + bytesText(size)
	}
	return bytesText(size)
}

// bytesBelow adds up the files below a directory. What cannot be read is not counted; the error is that of ctx.
func bytesBelow(ctx context.Context, dir string) (size uint64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += uint64(max(0, info.Size()))
			}
		}
		return ctx.Err()
	})
	return size, err
}
