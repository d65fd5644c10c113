package conduct

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

const (
	// slowPast is from how long on it is told how long the history took; waitPast how often it is tried to become the one who
	// takes it.
	slowPast = 2 * time.Second
	waitPast = 50 * time.Millisecond
)

// TakePast takes the history before the base that trees of the run have, once: a run that goes on keeps what it began with. What
// is taken into caches of this run alone, as of a dry run, only the command of a shard rule can need.
func (h *Half) TakePast(ctx context.Context) error {
	p, err := h.Mirror.Past()
	if err != nil || p.Commits != "" && isDir(p.Commits) {
		return err
	}
	if strings.HasPrefix(h.Caches, h.Path+string(filepath.Separator)) && !h.shardsByCommand() {
		return nil
	}
	dir := filepath.Join(h.Caches, "history")
	unlock, err := lockPast(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	if p, err = h.workers().takePast(ctx, dir); err != nil || p.Commits == "" {
		return err
	}
	if took := time.Since(began); took > slowPast {
		h.Notices = append(h.Notices, fmt.Sprintf("the history of the repository was copied for trees, in %s; later runs copy "+
			"only new commits", took.Round(time.Second)))
	}
	return h.Mirror.KeepPast(p)
}

// shallow reports that the history of trees is as short as that of the clone.
func (h *Half) shallow() []string {
	if !h.Checkout.Shallow {
		return nil
	}
	return []string{"the clone is shallow: the history that trees have ends where that of the clone does; " +
		"git fetch --unshallow fetches the rest"}
}

// shardsByCommand reports whether the plan has a shard rule by: command.
func (h *Half) shardsByCommand() bool {
	return h.Spec.Plan != nil && slices.ContainsFunc(h.Spec.Plan.Tasks, func(t spec.Task) bool {
		return t.Shard != nil && t.Shard.By == "command"
	})
}

// lockPast makes the caller the one who takes the history of a repository.
func lockPast(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the place of the history: %w", err)
	}
	tick := time.NewTicker(waitPast)
	defer tick.Stop()
	for {
		lock, err := sandbox.TryLock(filepath.Join(dir, "lock"))
		if err != nil {
			return nil, fmt.Errorf("lock the history: %w", err)
		}
		if lock != nil {
			return func() { _ = lock.Close() }, nil // and with it the lock
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, cmp.Or(context.Cause(ctx), ctx.Err())
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// noteFar reports what fails on other machines, where anything is before the base.
func (h *Half) noteFar(ctx context.Context) error {
	base, err := h.Mirror.Commit(ctx, h.Spec.Base)
	if err != nil || len(base.Parents) == 0 {
		return err
	}
	text := "on other machines gates and agents have the commits and tags of the history without its old files: git " +
		"describe and git log work, git log -p, git log -- PATH and git blame end with an error"
	if h.Spec.Project.History == spec.HistoryFull {
		text += "; history: " + spec.HistoryFull + " counts on the machine of the checkout alone"
	}
	h.Notices = append(h.Notices, text)
	return nil
}

// FarPast is the history that trees on other machines have; nil for none.
func (h *Half) FarPast() (*wire.Past, error) {
	p, err := h.Mirror.Past()
	if err != nil || p.Commits == "" {
		return nil, err
	}
	return &wire.Past{Tags: p.Tags, Shallow: p.Shallow}, nil
}

// PackPast puts what a worker lacks of that into the cache of the bus, which has what leads to some tips.
func (h *Half) PackPast(ctx context.Context, have []string) (p depot.SealedPack, err error) {
	if len(have) > git.MaxTips {
		return p, fmt.Errorf("pack the history: %d tips are more than %d", len(have), git.MaxTips)
	}
	// Workers that begin together ask for it together.
	sent, err, _ := h.sends.Do(strings.Join(append(have, depot.PastDir), " "), func() (any, error) {
		return depot.PutPast(ctx, h.Bus.Cache(), h.Path, h.Mirror, have)
	})
	p, _ = sent.(depot.SealedPack)
	return p, err
}
