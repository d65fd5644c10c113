package station

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"divisi/internal/git"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
)

// Base opens the mirror of the run's base commit: the conductor's own, or one that is made again from what this machine keeps of
// the repository, and from a pack with what is not there.
func (w *Work) Base(ctx context.Context) (*git.Repo, error) {
	dir := filepath.Join(w.Path, "repo.git")
	if w.Shared {
		return w.Git.OpenMirror(dir)
	}
	if err := w.Trash.Put(dir); err != nil {
		return nil, fmt.Errorf("remove the mirror of an earlier worker: %w", err)
	}
	remote := ""
	if w.engaged != nil {
		remote = w.engaged.worker.o.Remotes[w.Setup.Name]
	}
	r, leave, err := w.Take(ctx, w.Git, w.Notice, remote, w.Setup, dir, w.commits, w.past)
	if err != nil {
		return nil, err
	}
	w.brought.clear()
	w.Later(func() { leave(w.brought.list()) })
	return r, nil
}

// Fetch brings a commit into the working half's own mirror.
func (w *Work) Fetch(ctx context.Context, commit string) error {
	err := w.commits(ctx, commit, append(w.brought.list(), w.Setup.Base), w.Mirror.ImportFrom)
	if err == nil {
		w.brought.add(commit)
	}
	return err
}

// commits implements mirrors.Source: it has a pack made of a commit.
func (w *Work) commits(ctx context.Context, commit string, have []string, take func(context.Context, io.Reader) error) error {
	p, err := Asks(ctx, w, call.ConductorPack, call.Lacking{Commit: commit, Have: have})
	if err != nil {
		return err
	}
	return depot.SealedPack(p).Copy(ctx, w.Bus.Cache(), take)
}

// brought are the commits that a mirror got after its base, the last one last, each with all that leads to it.
type brought struct {
	mu      sync.Mutex
	commits []string
}

func (b *brought) add(commit string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commits = append(b.commits, commit)
	b.commits = slices.Clone(b.commits[max(0, len(b.commits)-git.MaxKept+1):]) // and the base
}

func (b *brought) list() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.commits)
}

func (b *brought) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commits = nil
}
