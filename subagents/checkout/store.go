package checkout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
)

const (
	modulesDir = "modules"
	lfsDir     = "lfs"
	treeDir    = "tree"
	linksFile  = "links.json"
	// maxDepth bounds submodules in submodules.
	maxDepth = 16
	// maxFiles bounds the files of Git LFS: each command mounts them one by one.
	maxFiles = 500
	// unused is how long a content stays that no run has asked for.
	unused = 30 * 24 * time.Hour
	// poll is how often it is tried to get the store.
	poll = 100 * time.Millisecond
)

// Store keeps contents of one repository below the directory of its caches. Several processes can share it.
type Store struct {
	git *git.Git
	dir string
	// discard takes a directory away, whatever is in it.
	discard func(dir string) error
	clock   func() time.Time
}

// NewStore returns the store of the repository whose caches are in a directory.
func NewStore(g *git.Git, caches string, discard func(dir string) error, clock func() time.Time) *Store {
	return &Store{git: g, dir: filepath.Join(caches, "checkout"), discard: discard, clock: clock}
}

// link is a submodule of a commit.
type link struct {
	Commit string `json:"commit"`
	Name   string `json:"name,omitempty"`
}

// Take keeps what a checkout has for a commit of a mirror. What it does not have is in the content's Missing, and is no error.
// Without a checkout, nil, it is what the store has.
func (s *Store) Take(ctx context.Context, c *git.Checkout, mirror *git.Repo, commit string) (*Content, error) {
	links, err := linksOf(ctx, mirror, commit)
	if err != nil {
		return nil, fmt.Errorf("look for submodules: %w", err)
	}
	files, err := mirror.LFSFiles(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("look for files of Git LFS: %w", err)
	}
	content := &Content{dir: s.dir, links: links, files: map[string]git.LFSFile{}}
	if len(links) == 0 && len(files) == 0 {
		return content, nil
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // and with it the lock
	if err := s.sweep(); err != nil {
		return nil, err
	}
	for range 2 { // a commit that one place lacks may come with another, in the first pass
		content.modules, content.missing = nil, nil
		for _, place := range slices.Sorted(maps.Keys(links)) {
			if err := s.module(ctx, content, c, place, place, links[place], 0); err != nil {
				return nil, fmt.Errorf("take the submodule %s of the checkout: %w", place, err)
			}
		}
		if len(content.missing) == 0 {
			break
		}
	}
	content.more = max(0, len(files)-maxFiles)
	for i := range files[:len(files)-content.more] {
		content.files[files[i].Path] = files[i]
		if err := s.object(c, files[i].Pointer); errors.Is(err, fs.ErrNotExist) {
			content.pointers = append(content.pointers, files[i].Path)
		} else if err != nil {
			return nil, fmt.Errorf("take the content of %s from the checkout: %w", files[i].Path, err)
		}
	}
	slices.Sort(content.modules)
	return content, nil
}

func linksOf(ctx context.Context, r *git.Repo, commit string) (map[string]link, error) {
	commits, err := r.Links(ctx, commit)
	if err != nil || len(commits) == 0 {
		return nil, err
	}
	names, err := r.ModuleNames(ctx, commit)
	links := map[string]link{}
	for place, id := range commits {
		links[place] = link{id, names[place]}
	}
	return links, err
}

// lock makes this process the one that writes the store.
func (s *Store) lock(ctx context.Context) (*os.File, error) {
	for _, name := range []string{modulesDir, lfsDir} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o700); err != nil {
			return nil, fmt.Errorf("make the store of the checkout's contents: %w", err)
		}
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		lock, err := sandbox.TryLock(s.dir + ".lock")
		if err != nil {
			return nil, fmt.Errorf("lock the store of the checkout's contents: %w", err)
		}
		if lock != nil {
			return lock, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the contents of the checkout: %w", context.Cause(ctx))
		}
	}
}

// sweep removes what was not completed, and what no run has used for long.
func (s *Store) sweep() error {
	for _, kind := range []string{modulesDir, lfsDir} {
		entries, err := os.ReadDir(filepath.Join(s.dir, kind))
		if err != nil {
			return fmt.Errorf("look at the contents of the checkout: %w", err)
		}
		for _, e := range entries {
			name := filepath.Join(s.dir, kind, e.Name())
			info, err := os.Stat(name)
			if err == nil && filepath.Ext(name) == "" && s.clock().Sub(info.ModTime()) < unused {
				continue
			}
			if err := s.discard(name); err != nil {
				return fmt.Errorf("remove old contents of the checkout: %w", err)
			}
		}
	}
	return nil
}

// partial ends the names of what is not complete.
const partial = ".partial"

// use marks a content that is there as used now.
func (s *Store) use(name string) error { return os.Chtimes(name, s.clock(), s.clock()) }

// module keeps a submodule and those in it. below is its place in the checkout that has it, place that in the whole tree; outer
// is nil where the checkout does not have the outer one any more.
func (s *Store) module(
	ctx context.Context, content *Content, outer *git.Checkout, place, below string, l link, depth int,
) error {
	dir := filepath.Join(s.dir, modulesDir, l.Commit)
	var own *git.Checkout
	if outer != nil {
		var err error
		own, err = outer.Module(below, l.Name)
		if err != nil && !errors.Is(err, git.ErrNoModule) && !errors.Is(err, git.ErrOwner) {
			return err
		}
	}
	links, err := readLinks(dir)
	switch {
	case err == nil:
		err = s.use(dir)
	case own == nil || depth == maxDepth:
		if l.Name != "" { // else no command can get it
			content.missing = append(content.missing, place)
		}
		return nil
	default:
		if links, err = s.extract(ctx, own, l.Commit, dir); errors.Is(err, git.ErrDamaged) {
			content.missing = append(content.missing, place)
			return nil
		}
	}
	if err != nil {
		return err
	}
	content.modules = append(content.modules, place+"@"+l.Commit)
	for _, inner := range slices.Sorted(maps.Keys(links)) {
		if err := s.module(ctx, content, own, path.Join(place, inner), inner, links[inner], depth+1); err != nil {
			return err
		}
	}
	return nil
}

func readLinks(dir string) (links map[string]link, err error) {
	data, err := os.ReadFile(filepath.Join(dir, linksFile))
	if err == nil {
		err = json.Unmarshal(data, &links)
	}
	return links, err
}

// extract writes a commit of a submodule into the store: complete, or not at all.
func (s *Store) extract(ctx context.Context, own *git.Checkout, commit, dir string) (links map[string]link, err error) {
	tmp := dir + partial
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.discard(tmp))
		}
	}()
	mirror := filepath.Join(tmp, "mirror.git")
	r, err := s.git.Extract(ctx, own, commit, mirror, filepath.Join(tmp, treeDir))
	if err != nil {
		return nil, err
	}
	if links, err = linksOf(ctx, r, commit); err != nil {
		return nil, err
	}
	data, err := json.Marshal(links)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(tmp, linksFile), data, 0o600), os.RemoveAll(mirror))
	}
	if err == nil {
		err = os.Rename(tmp, dir)
	}
	return links, err
}

// object keeps the content that a pointer names, if it is that content. fs.ErrNotExist where the checkout does not have it.
func (s *Store) object(c *git.Checkout, p spec.Pointer) (err error) {
	name := filepath.Join(s.dir, lfsDir, p.OID)
	if info, err := os.Stat(name); err == nil && info.Size() == p.Size {
		return s.use(name)
	}
	if c == nil {
		return fs.ErrNotExist
	}
	from, err := c.OpenLFS(p)
	if err != nil {
		return err
	}
	defer from.Close() // nothing is written
	to, err := os.OpenFile(name+partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(name+partial))
		}
	}()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, p.Size+1))
	if err = errors.Join(err, to.Chmod(0o444), to.Sync(), to.Close()); err != nil {
		return err
	}
	if n != p.Size || hex.EncodeToString(sum.Sum(nil)) != p.OID {
		return fmt.Errorf("the object %s of Git LFS is damaged: %w", p.OID, fs.ErrNotExist)
	}
	return os.Rename(name+partial, name)
}
