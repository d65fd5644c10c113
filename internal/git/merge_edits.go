package git

import (
	"context"
	"path"
	"slices"
)

// mergeEdits merges a commit that does no more than modify files which ours still has as its parent had them. Then all ways to
// merge agree, and no process is needed. It reports false for any other two commits, which MergeTree takes to git: what is added,
// deleted or renamed, on which side ever, can meet a rename.
func (d *Draft) mergeEdits(ctx context.Context, ours, theirs string) (tree string, ok bool, err error) {
	their, err := d.commit(ctx, theirs)
	if err != nil || len(their.Parents) != 1 {
		return "", false, err
	}
	if ours == theirs {
		return their.Tree, true, nil
	}
	parent := their.Parents[0]
	if on, err := d.descends(ctx, ours, parent, theirs); err != nil || !on {
		return "", false, err
	}
	was, err := d.commit(ctx, parent)
	if err != nil {
		return "", false, err
	}
	edits, ok, err := d.modified(ctx, was.Tree, their.Tree, "")
	if err != nil || !ok {
		return "", false, err
	}
	our, err := d.commit(ctx, ours)
	if err != nil {
		return "", false, err
	}
	for _, c := range edits {
		has, err := d.find(ctx, our.Tree, c.Path)
		if err != nil || has.mode != c.OldMode || has.oid != c.OldOID {
			return "", false, err
		}
	}
	tree, err = d.Edit(ctx, our.Tree, edits)
	return tree, err == nil, err
}

// maxLine bounds how many commits back a common parent is looked for.
const maxLine = 20000

// descends reports whether a commit is on an unbranched line that goes back to a parent, with another one not on it: the
// parent is what a merge of the two begins with.
func (d *Draft) descends(ctx context.Context, commit, parent, without string) (bool, error) {
	for range maxLine {
		switch commit {
		case parent:
			return true, nil
		case without, d.r.base:
			return false, nil
		}
		c, err := d.commit(ctx, commit)
		if err != nil || len(c.Parents) != 1 {
			return false, err
		}
		commit = c.Parents[0]
	}
	return false, nil
}

// modified lists how two trees differ where only the content and the mode of regular files do; else it reports false.
func (d *Draft) modified(ctx context.Context, a, b, dir string) (edits []Change, ok bool, err error) {
	if a == b {
		return nil, true, nil
	}
	old, err := d.tree(ctx, a)
	if err != nil {
		return nil, false, err
	}
	now, err := d.tree(ctx, b)
	if err != nil || len(old) != len(now) {
		return nil, false, err
	}
	regular := []string{ModeFile, ModeExec}
	for i, was := range old {
		is, at := now[i], path.Join(dir, was.name)
		switch {
		case was == is:
		case was.name == is.name && was.mode == modeTree && is.mode == modeTree:
			below, ok, err := d.modified(ctx, was.oid, is.oid, at)
			if err != nil || !ok {
				return nil, false, err
			}
			edits = append(edits, below...)
		case was.name == is.name && slices.Contains(regular, was.mode) && slices.Contains(regular, is.mode):
			edits = append(edits, Change{Path: at, OldMode: was.mode, NewMode: is.mode, OldOID: was.oid, NewOID: is.oid})
		default:
			return nil, false, nil
		}
	}
	return edits, true, nil
}
