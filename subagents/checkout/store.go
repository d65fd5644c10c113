package checkout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	// maxModules bounds the submodules of a commit: few commits can contain each other in very many places.
	maxModules = 5000
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

// keep keeps a submodule, and returns those in it. git.ErrNoModule where it is not to be had.
type keep func(ctx context.Context, m Module) (map[string]link, error)

// Take keeps what a source has for a commit of a mirror. What it does not have is in the content's Missing, and is no error.
// Without a source, nil, it is what the store has.
func (s *Store) Take(ctx context.Context, from Source, mirror *git.Repo, commit string) (*Content, error) {
	return s.gather(ctx, from, mirror, commit, func(ctx context.Context, m Module) (map[string]link, error) {
		dir := filepath.Join(s.dir, modulesDir, m.Commit)
		links, err := readLinks(dir)
		if err == nil && from != nil && !isRepository(dir) {
			if err := s.discard(dir); err != nil {
				return nil, err
			}
			return s.extract(ctx, from, m, dir)
		}
		switch {
		case err == nil:
			return links, s.use(dir)
		case from == nil || len(m.way) > maxDepth:
			return nil, git.ErrNoModule
		}
		return s.extract(ctx, from, m, dir)
	})
}

// Lend is Take for other machines: it has no trees of submodules, but mirrors of them below a directory, by their commits.
func (s *Store) Lend(ctx context.Context, from Source, mirror *git.Repo, commit, dir string) (*Content, error) {
	return s.gather(ctx, from, mirror, commit, func(ctx context.Context, m Module) (map[string]link, error) {
		if len(m.way) > maxDepth {
			return nil, git.ErrNoModule
		}
		at := filepath.Join(dir, m.Commit)
		r, err := s.git.OpenMirror(at)
		if errors.Is(err, fs.ErrNotExist) {
			if err = os.MkdirAll(dir, 0o700); err == nil {
				r, err = from.Module(ctx, m, at)
			}
		}
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return linksOf(ctx, r, m.Commit)
	})
}

func (s *Store) gather(ctx context.Context, from Source, mirror *git.Repo, commit string, keep keep) (*Content, error) {
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
		if err := content.walk(ctx, nil, links, keep); err != nil {
			return nil, err
		}
		if len(content.missing) == 0 {
			break
		}
	}
	content.more = max(0, len(files)-maxFiles)
	for i := range files[:len(files)-content.more] {
		content.files[files[i].Path] = files[i]
		if err := s.object(ctx, from, files[i].Pointer); errors.Is(err, fs.ErrNotExist) {
			content.pointers = append(content.pointers, files[i].Path)
		} else if err != nil {
			return nil, fmt.Errorf("take the content of %s: %w", files[i].Path, err)
		}
	}
	slices.SortFunc(content.modules, func(a, b Module) int { return cmp.Compare(a.String(), b.String()) })
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
func (s *Store) lock(ctx context.Context) (*sandbox.Lock, error) {
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
			return fmt.Errorf("inspect the contents of the checkout: %w", err)
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

// isRepository reports whether a submodule has a git directory of its own: earlier versions kept files alone.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, treeDir, ".git"))
	return err == nil
}

func readLinks(dir string) (links map[string]link, err error) {
	data, err := os.ReadFile(filepath.Join(dir, linksFile))
	if err == nil {
		err = json.Unmarshal(data, &links)
	}
	return links, err
}

// extract writes a commit of a submodule into the store: complete, or not at all.
func (s *Store) extract(ctx context.Context, from Source, m Module, dir string) (links map[string]link, err error) {
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
	r, err := from.Module(ctx, m, mirror)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var past git.Past
	history := filepath.Join(tmp, "history")
	if h, ok := from.(historian); ok {
		if past, err = h.Past(ctx, m, history); err != nil {
			return nil, err
		}
	}
	if err := r.Extract(ctx, filepath.Join(tmp, treeDir), past); err != nil {
		return nil, err
	}
	if links, err = linksOf(ctx, r, m.Commit); err != nil {
		return nil, err
	}
	data, err := json.Marshal(links)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(tmp, linksFile), data, 0o600), os.RemoveAll(mirror), os.RemoveAll(history))
	}
	if err == nil {
		err = os.Rename(tmp, dir)
	}
	return links, err
}

// Open opens the content that a pointer names. fs.ErrNotExist where the store does not have it.
func (s *Store) Open(p spec.Pointer) (*os.File, error) {
	f, err := os.Open(filepath.Join(s.dir, lfsDir, p.OID))
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Size() != p.Size {
		return nil, errors.Join(err, fs.ErrNotExist, f.Close())
	}
	return f, nil
}

// object keeps the content that a pointer names, if it is that content. fs.ErrNotExist where the source does not have it.
func (s *Store) object(ctx context.Context, from Source, p spec.Pointer) error {
	name := filepath.Join(s.dir, lfsDir, p.OID)
	if info, err := os.Stat(name); err == nil && info.Size() == p.Size {
		return s.use(name)
	}
	if from == nil {
		return fs.ErrNotExist
	}
	err := from.Object(ctx, p, func(_ context.Context, r io.Reader) error { return write(r, p, name+partial) })
	if err == nil {
		err = os.Rename(name+partial, name)
	}
	return err
}

// write writes what a reader has to a file, if it is the content that a pointer names.
func write(from io.Reader, p spec.Pointer, name string) (err error) {
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(name))
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
	return nil
}
