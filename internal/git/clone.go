package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Clone makes an empty directory an ordinary repository for a person: one branch on a commit of the mirror, and no hooks, no
// remote and no settings but those of its format and of line ends. Lay fills its work tree as a checkout does.
func (r *Repo) Clone(ctx context.Context, dir, branch, commit string) (*Repo, error) {
	ref := "refs/heads/" + branch
	c := &Repo{g: r.g, dir: filepath.Join(dir, ".git"), base: r.base}
	refs, err := r.Refs()
	asked, failed := r.Conversion(ctx, commit)
	s := skeleton{
		format: len(commit), head: "ref: " + ref, shallow: []string{r.base}, ordinary: true,
		exclude:    ignoreLists(filepath.Join(r.dir, "info", "exclude")),
		attributes: treeAttributes(asked.Encodes()), ends: refs.Ends,
	}
	err = errors.Join(err, failed, ValidRef(ref), checkIDs(commit))
	if err == nil {
		err = s.write(c.dir)
	}
	if err == nil {
		err = r.send(ctx, c.dir, commit+"\n")
	}
	if err == nil {
		err = c.UpdateRef(ctx, ref, commit, "")
	}
	if err != nil {
		return nil, fmt.Errorf("clone %s to %s: %w", commit, dir, err)
	}
	return c, nil
}

// Lay puts the files of a commit into the work tree around a clone, as changes against the commit that its branch is on: git diff
// shows new files too. The paths in without stay as they are there.
func (r *Repo) Lay(ctx context.Context, commit, base string, without ...string) (err error) {
	if err := checkIDs(commit, base); err != nil {
		return err
	}
	if len(without) > 0 {
		if commit, err = r.treeWithout(ctx, commit, base, without); err != nil {
			return err
		}
	}
	at := Dir{GitDir: r.dir, WorkTree: filepath.Dir(r.dir)}
	for _, args := range [][]string{{"read-tree", "-u", "--reset", commit}, {"reset", "-q", "--mixed", "-N", base}} {
		if _, err := r.g.Run(ctx, at, nil, args...); err != nil {
			return fmt.Errorf("put the files of %s into %s: %w", commit, at.WorkTree, err)
		}
	}
	return nil
}

// treeWithout is the tree of a commit in which some paths are as in its base.
func (r *Repo) treeWithout(ctx context.Context, commit, base string, paths []string) (tree string, err error) {
	at := Dir{GitDir: r.dir, WorkTree: filepath.Dir(r.dir), Index: filepath.Join(r.dir, "without")}
	defer func() {
		if removed := os.Remove(at.Index); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	var out []byte
	back := append([]string{"reset", "-q", base, "--"}, paths...)
	for _, args := range [][]string{{"read-tree", commit}, back, {"write-tree"}} {
		if out, err = r.g.Run(ctx, at, nil, args...); err != nil {
			return "", fmt.Errorf("leave paths out of %s: %w", commit, err)
		}
	}
	return strings.TrimSpace(string(out)), nil
}

// unfinished are the files of a repository in which git keeps that it was interrupted for a person.
var unfinished = map[string]string{
	"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "rebase-merge": "rebase",
	"rebase-apply": "rebase", "BISECT_LOG": "bisect",
}

// Unfinished names what a person has begun in a repository and not ended, such as a merge; "" for nothing.
func (g *Git) Unfinished(ctx context.Context, gitDir string) (what string, err error) {
	for name, what := range unfinished {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); !errors.Is(err, fs.ErrNotExist) {
			return what, err
		}
	}
	out, err := g.Run(ctx, Dir{GitDir: gitDir}, nil, "ls-files", "-z", "--unmerged")
	if err != nil {
		return "", fmt.Errorf("read the index of %s: %w", gitDir, err)
	}
	if len(out) > 0 {
		return "merge", nil
	}
	return "", nil
}

// Inside reports whether a path, which need not exist, lies in the repository at or above top or in another work tree of it.
func Inside(path, top string) bool {
	home, err := discover(top)
	if err != nil {
		return false
	}
	for path = Resolved(path); !isDir(path) && path != filepath.Dir(path); {
		path = filepath.Dir(path)
	}
	in, err := discover(path)
	return err == nil && in.commonDir == home.commonDir || Below(path, home.top)
}

// Resolved follows the links of an absolute path, whose last parts need not exist.
func Resolved(path string) string {
	if at, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return at
	}
	return filepath.Join(Resolved(filepath.Dir(path)), filepath.Base(path))
}

// Below reports whether a path is a directory or lies in it.
func Below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
