package evidence

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/acceptance/testsource"
)

// The most bytes that the checks of a patch read of one file, and of all.
const (
	maxCheckedFile  = 2 << 20
	maxCheckedBytes = 64 << 20
)

// Changes reads the files of a patch, before and after, those that hold tests first.
func Changes(ctx context.Context, mirror *git.Repo, p *spec.Patch) ([]acceptance.Change, error) {
	changed, err := mirror.Changed(ctx, p.Base, p.Commit)
	if err != nil {
		return nil, fmt.Errorf("list the changes of %s: %w", p.Commit, err)
	}
	type side struct {
		change *acceptance.Change
		to     *[]byte
	}
	var entries []git.Entry
	var sides []side
	slices.SortStableFunc(changed, func(a, b git.Change) int { return cmp.Compare(order(a.Path), order(b.Path)) })
	out := make([]acceptance.Change, len(changed))
	add := func(change *acceptance.Change, mode, id string, to *[]byte) {
		if mode == git.ModeFile || mode == git.ModeExec {
			entries, sides = append(entries, git.Entry{Path: change.Path, Mode: mode, OID: id}), append(sides, side{change, to})
		}
	}
	for i, c := range changed {
		out[i].Path, out[i].Became = c.Path, became(&c)
		if c.OldOID != c.NewOID { // only its mode differs
			add(&out[i], c.OldMode, c.OldOID, &out[i].Before)
			add(&out[i], c.NewMode, c.NewOID, &out[i].After)
			if c.NewMode == git.ModeSymlink {
				out[i].Unread = "it is a symbolic link to another place than before"
			}
		}
	}
	read := 0
	err = mirror.ReadBlobs(ctx, entries, func(_ git.Entry, content []byte) error {
		s := sides[0]
		sides, read = sides[1:], read+len(content)
		switch {
		case len(content) > maxCheckedFile:
			s.change.Unread = fmt.Sprintf("it has %d bytes, more than %d", len(content), maxCheckedFile)
		case read > maxCheckedBytes:
			s.change.Unread = fmt.Sprintf("the files have more than %d bytes together", maxCheckedBytes)
		default:
			*s.to = append([]byte{}, content...) // never nil: the file is there
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the changes of %s: %w", p.Commit, err)
	}
	return out, nil
}

// became reports what a rewrite of a file took from it without a word: its executable bit, or that it was a link. A patch of the
// mode alone means it.
func became(c *git.Change) string {
	switch {
	case c.OldMode == git.ModeExec && c.NewMode == git.ModeFile && c.OldOID != c.NewOID:
		return "it was executable, and was rewritten without that: chmod +x keeps it"
	case c.OldMode == git.ModeSymlink && (c.NewMode == git.ModeFile || c.NewMode == git.ModeExec):
		return "it was a symbolic link, and is a file of its own now: the file that it led to stays as it was"
	}
	return ""
}

// Roots reads the files of a commit that gates begin with: in the top directory, and in those that gates name.
func Roots(ctx context.Context, mirror *git.Repo, commit string, gates []spec.Gate) (roots []acceptance.Root, err error) {
	var paths []string
	for _, name := range acceptance.RootNames {
		paths = append(paths, name)
		for _, g := range gates {
			for _, arg := range g.Command {
				if in := path.Join(arg, name); fs.ValidPath(in) {
					paths = append(paths, in)
				}
			}
		}
	}
	slices.Sort(paths)
	entries, err := mirror.Lookup(ctx, commit, slices.Compact(paths))
	if err != nil {
		return nil, fmt.Errorf("list the start files of gates: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e git.Entry) bool { return e.Mode != git.ModeFile && e.Mode != git.ModeExec })
	err = mirror.ReadBlobs(ctx, entries, func(e git.Entry, content []byte) error {
		if len(content) <= maxCheckedFile {
			roots = append(roots, acceptance.Root{Path: e.Path, Content: slices.Clone(content)})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the start files of gates: %w", err)
	}
	return roots, nil
}

// order is where a file is read: what is read last may be too much.
func order(file string) int {
	if testsource.IsTest(file) {
		return 0
	}
	return 1
}
