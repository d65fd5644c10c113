package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
)

// author is whose commits the patches are; landing makes commits of its own.
var author = git.Ident{Name: "Divisi", Email: "divisi@localhost"}

// slotTree is the work tree of one attempt in a slot.
type slotTree struct {
	slot    *workspace.Slot
	objects journal.Objects
	head    string
	message string
	// at is the time of every commit of the attempt, so that the same content is the same commit and is stored once.
	at time.Time
	// took adds up what it took to save; nil where it does not count.
	took *time.Duration
}

func newSlotTree(slot *workspace.Slot, objects journal.Objects, a *wire.Assignment, at time.Time) *slotTree {
	message := a.Task.Title
	if message == "" {
		message = a.Task.ID
	}
	return &slotTree{slot: slot, objects: objects, head: a.Head, message: message, at: at}
}

// Save implements Tree.
func (t *slotTree) Save(ctx context.Context) (*spec.Patch, error) {
	if t.took != nil {
		begin := time.Now()
		defer func() { *t.took += time.Since(begin) }()
	}
	patch, pack, err := t.slot.Collect(ctx, t.head, t.message, author, t.at)
	if err != nil || patch == nil {
		return nil, err
	}
	patch.Pack = "pack-" + patch.Commit
	// The same commit may be packed in different ways; the pack that is there is as good.
	if err := t.objects.Put(ctx, patch.Pack, pack); err != nil && !errors.Is(err, bus.ErrExists) {
		return nil, fmt.Errorf("store the pack of %s: %w", patch.Commit, err)
	}
	return patch, nil
}

// Diff implements Tree.
func (t *slotTree) Diff(ctx context.Context, limit int) (string, error) {
	text, cut, err := t.slot.Diff(ctx, t.head, limit)
	if err != nil {
		return "", err
	}
	if cut {
		text += "\n[… more]\n"
	}
	return text, nil
}

// bring makes sure that the mirror has the commits that the assignment is about, where it is not the conductor's own.
func (at *attempt) bring(ctx context.Context) error {
	a, w := at.assignment, at.worker
	if w.cfg.Fetch == nil {
		return nil
	}
	commits := []string{a.Head, a.Since, a.Passage}
	for _, p := range []*spec.Patch{a.Patch, a.Start} {
		if p != nil {
			commits = append(commits, p.Commit)
		}
	}
	for _, c := range commits {
		if c == "" {
			continue
		}
		has, err := w.cfg.Mirror.Has(ctx, c)
		if err == nil && !has {
			err = w.cfg.Fetch(ctx, c)
		}
		if err != nil {
			return fmt.Errorf("bring %s: %w", c, err)
		}
	}
	return nil
}

// fetch makes sure that the mirror has a patch's commit.
func fetch(ctx context.Context, mirror *git.Repo, objects journal.Objects, p *spec.Patch) error {
	has, err := mirror.Has(ctx, p.Commit)
	if err != nil || has {
		return err
	}
	pack, err := objects.Get(ctx, p.Pack)
	if err != nil {
		return fmt.Errorf("get the pack of %s: %w", p.Commit, err)
	}
	if err := mirror.Import(ctx, pack); err != nil {
		return fmt.Errorf("import %s: %w", p.Commit, err)
	}
	return nil
}
