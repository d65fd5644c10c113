package station

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"divisi/internal/git"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
)

// Base opens the mirror of the run's base commit.
func (w *Work) Base(ctx context.Context) (*git.Repo, error) {
	return w.party().base(ctx, filepath.Join(w.Path, "repo.git"))
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
