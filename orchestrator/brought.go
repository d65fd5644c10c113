package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"divisi/internal/git"
	"divisi/orchestrator/mirrors"
)

const (
	// leftHeads bounds the commits that a run leaves for the next one; leaveTime how long that may take.
	leftHeads = 4
	leaveTime = 10 * time.Second
)

// base opens the mirror of the run's base commit: the conductor's own, or one that is made anew from what this machine keeps of
// the repository, and from a pack with what is not there.
func (w *work) base(ctx context.Context) (*git.Repo, error) {
	dir := filepath.Join(w.path, "repo.git")
	if w.shared {
		return w.git.OpenMirror(dir)
	}
	if err := w.trash.Put(dir); err != nil {
		return nil, fmt.Errorf("remove the mirror of an earlier worker: %w", err)
	}
	s, err := w.collections(w.git, w.notice)
	if err != nil {
		return nil, err
	}
	if w.engaged != nil {
		s.Remote = w.engaged.worker.o.Remotes[w.setup.Name]
	}
	m := mirrors.Mirror{Dir: dir, Commit: w.setup.Base, Exclude: w.setup.Exclude}
	held, r, err := s.Open(ctx, w.setup.Caches, m, w.commits)
	if err != nil {
		return nil, fmt.Errorf("get the base commit of run %s: %w", w.run, err)
	}
	err = keepRefs(r, gitRefs(w.setup.Refs))
	if err == nil {
		err = keepPast(ctx, s, w.setup.Caches, r, w.setup.Past, w.past)
	}
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	w.brought.clear()
	w.later(func() { w.leave(held, r) })
	return r, nil
}

// leave has the next run on this machine find what this one has got.
func (w *work) leave(held *mirrors.Held, r *git.Repo) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	heads := w.brought.list()
	err := held.Leave(ctx, r, heads[max(0, len(heads)-leftHeads):]...)
	if err = errors.Join(err, held.Close()); err != nil {
		w.log.Warn().Err(err).Msg("the mirror of the repository was not brought up to date")
	}
}

// fetch brings a commit into the working half's own mirror.
func (w *work) fetch(ctx context.Context, commit string) error {
	err := w.commits(ctx, commit, append(w.brought.list(), w.setup.Base), w.mirror.ImportFrom)
	if err == nil {
		w.brought.add(commit)
	}
	return err
}

// commits implements mirrors.Source: it has a pack made of a commit.
func (w *work) commits(ctx context.Context, commit string, have []string, take func(context.Context, io.Reader) error) error {
	a, err := w.ask(ctx, call{name: callPack, body: lacking{Commit: commit, Have: have}})
	if err != nil {
		return err
	}
	return sealedPack{a.Object, a.Size}.copy(ctx, w.bus.Cache(), take)
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
