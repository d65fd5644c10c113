package workspace

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"divisi/internal/git"
	"divisi/internal/spec"
)

// ErrOutside reports a changed path that is in no part. ErrObeyed reports a change of a file that git obeys: it can hide files of
// other parts, and git may refuse the pack, with their patches, for what it says.
var (
	ErrOutside = errors.New("a changed path is in no part of the tree")
	ErrObeyed  = errors.New("a file that git obeys has changed")
)

var obeyed = []string{".gitignore", ".gitattributes", ".gitmodules"}

// Part is the possible change of one of those who share a work tree.
type Part struct {
	// Files are paths that are surely its own; Owns decides about others.
	Files   []string
	Owns    func(path string) bool
	Message string
	At      time.Time
}

// CollectParts makes one commit on base for each part, as Collect makes one of all, and packs them together. The patch of a part
// in which nothing has changed is nil. Errors: those of Collect, ErrOutside, ErrObeyed.
func (s *Slot) CollectParts(
	ctx context.Context, base string, author git.Ident, parts []Part,
) (patches []*spec.Patch, pack []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tree, err := s.tree(ctx)
	if err == nil {
		err = s.showAll(ctx, parts)
	}
	var changes []git.Change
	if err == nil {
		changes, err = s.repo.Changed(ctx, base, tree)
	}
	var mine [][]git.Change
	if err == nil {
		mine, err = divide(changes, parts)
	}
	if err == nil {
		patches, pack, err = s.commitParts(ctx, base, author, parts, mine)
	}
	if err != nil {
		s.ruined = true
		return nil, nil, fmt.Errorf("collect the changes in %s: %w", s.name, err)
	}
	return patches, pack, nil
}

// showAll returns ErrObeyed where a new list of ignored files, which need not show itself, lies beside or above what a part owns.
// Lists elsewhere, such as those that tools leave in their caches, hide nothing of a part.
func (s *Slot) showAll(ctx context.Context, parts []Part) error {
	others, err := s.others(ctx, s.touched())
	if err != nil {
		return err
	}
	isList := func(name string) bool { return path.Base(name) == ".gitignore" }
	var hiding []string
	for _, name := range others {
		if dir, _ := path.Split(name); isList(name) {
			hiding = append(hiding, dir)
		}
	}
	for _, name := range others {
		hidden := slices.ContainsFunc(hiding, func(dir string) bool { return strings.HasPrefix(name, dir) })
		if hidden && !isList(name) && slices.ContainsFunc(parts, func(p Part) bool { return p.Owns(name) }) {
			return fmt.Errorf("%w: a new list of ignored files may hide %q", ErrObeyed, name)
		}
	}
	return nil
}

// divide gives each change to the part that owns its path.
func divide(changes []git.Change, parts []Part) ([][]git.Change, error) {
	mine, owner := make([][]git.Change, len(parts)), map[string]int{}
	for i, p := range parts {
		for _, file := range p.Files {
			owner[file] = i
		}
	}
	for _, c := range changes {
		if slices.Contains(obeyed, strings.ToLower(path.Base(c.Path))) {
			return nil, fmt.Errorf("%w: %q", ErrObeyed, c.Path)
		}
		i, found := owner[c.Path]
		found = found && parts[i].Owns(c.Path)
		for at := 0; !found && at < len(parts); at++ {
			i, found = at, parts[at].Owns(c.Path)
		}
		if !found {
			return nil, fmt.Errorf("%w: %q", ErrOutside, c.Path)
		}
		mine[i] = append(mine[i], c)
	}
	return mine, nil
}

func (s *Slot) commitParts(
	ctx context.Context, base string, author git.Ident, parts []Part, mine [][]git.Change,
) (patches []*spec.Patch, pack []byte, err error) {
	d := s.repo.Draft()
	patches = make([]*spec.Patch, len(parts))
	var commits []string
	for i, changes := range mine {
		if len(changes) == 0 {
			continue
		}
		p := &spec.Patch{Base: base}
		if p.Tree, err = d.Edit(ctx, base, changes); err != nil {
			return nil, nil, err
		}
		p.Commit, err = d.CommitTree(p.Tree, []string{base}, parts[i].Message, author, author, parts[i].At)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range changes {
			if p.Files = append(p.Files, c.Path); c.OldMode == git.ModeNone {
				p.Created = append(p.Created, c.Path)
			}
		}
		p.Added, p.Deleted = git.CountLines(changes)
		patches[i], commits = p, append(commits, p.Commit)
	}
	if err := d.Flush(ctx); err != nil || len(commits) == 0 {
		return patches, nil, err
	}
	for i, p := range patches {
		if p == nil {
			continue
		}
		if p.Lost, err = s.lost(ctx, base, p.Tree, mine[i]); err != nil {
			return nil, nil, err
		}
	}
	pack, err = s.repo.Pack(ctx, commits[0], base, commits[1:]...)
	return patches, pack, err
}
