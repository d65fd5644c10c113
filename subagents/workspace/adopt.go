package workspace

import (
	"context"
	"fmt"
	"path/filepath"

	"divisi/internal/git"
	"divisi/internal/spec"
)

// Adopt makes a slot of a directory that a person has worked in since it held base, to collect the changes. What git keeps for
// that is in private, an empty directory of the caller's. The index of the person's git counts as that of commands does.
// The slot belongs to no pool, and is not reset.
func Adopt(ctx context.Context, mirror *git.Repo, dir, private, base string) (_ *Slot, err error) {
	g := mirror.Git()
	s := &Slot{
		pool: &Pool{mirror: mirror}, git: g, mirror: mirror, name: dir, dir: dir, gitDir: filepath.Join(private, "give.git"),
		known: map[string]stamp{}, lies: map[string]bool{}, written: map[string]fileStamp{}, gone: map[string]bool{},
	}
	if s.pool.refs, err = mirror.Refs(); err != nil {
		return nil, err
	}
	exclude := filepath.Join(dir, ".git", "info", "exclude")
	if s.repo, err = g.Borrow(s.gitDir, mirror, exclude); err != nil {
		return nil, err
	}
	if err = s.anew(ctx, base); err != nil {
		return nil, err
	}
	if _, err := g.Run(ctx, s.at(), nil, "read-tree", base); err != nil {
		return nil, fmt.Errorf("read the start of %s: %w", dir, err)
	}
	s.indexed, s.handed = base, handed{commit: base, exclude: s.stampIn(excludeFile)}
	return s, nil
}

// Check checks a patch that was collected in the slot, as it is checked when a run receives it.
func (s *Slot) Check(ctx context.Context, p *spec.Patch, allowed func(path string, made bool) bool) error {
	return git.CheckPatch(ctx, s.repo, *p, allowed)
}
