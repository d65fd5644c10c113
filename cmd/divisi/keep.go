package main

import (
	"fmt"
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
