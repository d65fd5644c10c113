package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"divisi/internal/git"
)

// dotGit is the directory at the top of a work tree that the git of commands works with. It is new after each reset, whatever was
// done to it, and git processes of the host pass over it.
const dotGit = ".git"

// isDotGit reports whether a path of the machine is that directory.
func (s *Slot) isDotGit(name string) bool { return name == filepath.Join(s.dir, dotGit) }

// stand makes the git directory of commands anew, with HEAD on the commit that the index holds, or on the one that stands for its
// tree.
func (s *Slot) stand(ctx context.Context, commit string) error {
	d := git.DotGit{
		Refs: s.pool.refs, Head: commit, Base: s.mirror.Base(), Objects: s.Objects(), Shallow: s.pool.past.Shallow,
		Tags: s.pool.past.Tags, From: s.gitDir, At: s.pool.day,
	}
	if len(d.Objects) == 1 { // nothing is there before the base
		d.Shallow, d.Main = []string{d.Base}, d.Base
		if d.Upstream != "" {
			d.Upstream = d.Base
		}
	}
	dir := filepath.Join(s.dir, dotGit)
	base, err := s.pool.unusual(ctx)
	if err == nil {
		d.Submodules = len(base.links) > 0
	}
	if err == nil && s.lay.Tested {
		d.Head, err = s.mirror.Tested(ctx, commit, s.pool.day)
	}
	if err == nil && len(s.lay.Shown) > 0 {
		d.Index, err = s.passOver(ctx, s.lay.Shown)
	}
	if err == nil {
		err = s.emptyDotGit(dir)
	}
	if err == nil {
		s.stood = d.Head
		err = d.Write(dir)
	}
	if err != nil {
		return fmt.Errorf("make %s a repository for commands: %w", s.name, err)
	}
	s.handed = s.hand(commit)
	return nil
}

// passOver makes an index for commands in which files count as not checked out: whatever lies in their place is no change. It is
// made beside the slot's own.
func (s *Slot) passOver(ctx context.Context, files []string) (index string, err error) {
	at := s.at()
	at.Index = filepath.Join(s.gitDir, "index-shown")
	data, err := os.ReadFile(filepath.Join(s.gitDir, "index"))
	if err == nil {
		err = os.WriteFile(at.Index, data, 0o600)
	}
	if err == nil {
		in := strings.NewReader(strings.Join(files, "\x00") + "\x00")
		_, err = s.git.Run(ctx, at, in, "update-index", "-z", "--skip-worktree", "--stdin")
	}
	return at.Index, err
}

// emptyDotGit makes an empty directory, or empties the one that is there: then the directory that it is in has not changed.
func (s *Slot) emptyDotGit(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && info.IsDir() {
		err = errors.Join(os.Chmod(dir, info.Mode().Perm()|0o700), removeAllIn(dir))
		if err == nil {
			return nil
		}
	}
	if err = Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		s.known["."] = stamp{}
		err = os.Mkdir(dir, 0o755)
	}
	return err
}

func removeAllIn(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err == nil {
			err = Remove(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// Referred reports whether commands may have made commits or stashes in their git directory: it has a branch or another ref that
// a new one does not have, or its branch has moved.
func (s *Slot) Referred() bool {
	root, err := os.OpenRoot(filepath.Join(s.dir, dotGit))
	if err != nil {
		return false
	}
	defer root.Close() // a handle
	own := path.Join("refs/heads", s.pool.refs.Branch)
	if head, info, err := readRegular(root, filepath.FromSlash(own)); err != nil || info == nil || string(head) != s.stood+"\n" {
		return true
	}
	more := errors.New("another ref")
	err = fs.WalkDir(root.FS(), "refs", func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == "refs/remotes" && err == nil:
			return skip(d)
		case err == nil && !d.IsDir() && name != own:
			return more
		}
		return err
	})
	return err != nil
}
