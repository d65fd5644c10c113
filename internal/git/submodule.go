package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoModule reports that a checkout does not have a submodule: it was not initialised.
var ErrNoModule = errors.New("the submodule is not checked out")

// maxModules bounds a .gitmodules in bytes.
const maxModules = 1 << 20

// ModuleNames reads the .gitmodules of a commit: the names of submodules by their places. What is no plain relative path is left
// out: a name is that of a directory.
func (r *Repo) ModuleNames(ctx context.Context, commit string) (_ map[string]string, err error) {
	names := map[string]string{}
	data, err := r.ReadFile(ctx, commit, ".gitmodules", maxModules)
	if errors.Is(err, ErrNotFound) {
		return names, nil
	}
	if err != nil {
		return nil, err
	}
	tmp, remove, err := scratch()
	if err != nil {
		return nil, fmt.Errorf("read .gitmodules: %w", err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	file := filepath.Join(tmp, "modules")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, fmt.Errorf("read .gitmodules: %w", err)
	}
	out, err := r.g.exec(ctx, call{
		dir: Dir{GitDir: nowhere}, args: []string{"config", "--no-includes", "--file", file, "-z", "--list"},
	})
	if exitCode(err) > 0 {
		return names, nil // it is malformed: the places have their own .git
	}
	for key, values := range parseSettings(out) {
		name, isPath := strings.CutSuffix(key, ".path")
		name, isModule := strings.CutPrefix(name, "submodule.")
		if place := values[len(values)-1]; isPath && isModule && plainPath(name) && plainPath(place) {
			names[place] = name
		}
	}
	return names, err
}

// plainPath reports whether a path names something below a directory, and nothing of a repository's own.
func plainPath(name string) bool {
	return fs.ValidPath(name) && name != "." && !gitFile(name) && !strings.ContainsAny(name, "\x00\n\\")
}

// Module finds the repository that a checkout has for the submodule at a place: the one that the place itself names, else the one
// that is kept under its name, which can be empty. Both lie in the checkout or in its git directory, and have its owner: a
// checkout that comes from elsewhere could name any. Errors: ErrNoModule, ErrOwner.
func (c *Checkout) Module(place, name string) (*Checkout, error) {
	if !plainPath(place) {
		return nil, fmt.Errorf("the place %q of a submodule: %w", place, ErrBadName)
	}
	top := filepath.Join(c.Top, filepath.FromSlash(place))
	found := ""
	if target, err := filepath.EvalSymlinks(top); err == nil && target == top { // no link leads there
		if found, err = gitDirIn(top); err != nil && !errors.Is(err, ErrNotRepository) {
			return nil, fmt.Errorf("look for the submodule %s: %w", place, err)
		}
	}
	if found == "" && plainPath(name) {
		for _, dir := range []string{c.GitDir, c.CommonDir} {
			if at := filepath.Join(dir, "modules", filepath.FromSlash(name)); found == "" && isGitDir(at) {
				found = at
			}
		}
	}
	if found == "" {
		return nil, fmt.Errorf("submodule %s: %w", place, ErrNoModule)
	}
	l, err := newLayout(top, found)
	if err != nil {
		return nil, fmt.Errorf("look for the submodule %s: %w", place, err)
	}
	m := &Checkout{Top: top, GitDir: l.gitDir, CommonDir: l.commonDir, Objects: filepath.Join(l.commonDir, "objects"), outer: c}
	for _, dir := range []string{m.GitDir, m.CommonDir, m.Objects} {
		if err := c.owns(dir); err != nil {
			return nil, fmt.Errorf("submodule %s: %w", place, err)
		}
	}
	return m, nil
}

// owns returns an error for a directory that lies elsewhere, or belongs to another user than the checkout's git directory.
func (c *Checkout) owns(dir string) error {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for c.outer != nil {
		c = c.outer
	}
	if common, err := filepath.EvalSymlinks(c.CommonDir); err != nil {
		return err
	} else if !below(target, c.Top) && !below(target, common) {
		return fmt.Errorf("%s is neither in the checkout nor in its git directory: %w", target, ErrNoModule)
	}
	its, err := os.Stat(target)
	if err != nil {
		return err
	}
	ours, err := os.Stat(c.CommonDir)
	if err != nil {
		return err
	}
	if uid, ok := OwnerOf(its); ok {
		if own, _ := OwnerOf(ours); uid != own {
			return fmt.Errorf("%w: %s", ErrOwner, target)
		}
	}
	return nil
}

func below(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// Extract writes the files of a mirror's base into a new directory, as a checkout does by their attributes. The directory is a
// repository of its own, with HEAD on the base and what there is of the history: its objects are hard links to those of both.
func (r *Repo) Extract(ctx context.Context, to string, past Past) (err error) {
	if err := os.Mkdir(to, 0o755); err != nil {
		return fmt.Errorf("make a tree of %s: %w", r.base, err)
	}
	tmp, remove, err := scratch()
	if err != nil {
		return fmt.Errorf("make a tree of %s: %w", r.base, err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	at := Dir{GitDir: filepath.Join(tmp, "view"), WorkTree: to}
	asked, err := r.Conversion(ctx, r.base)
	s := skeleton{
		format: len(r.base), borrow: []string{r.Objects()}, shallow: []string{r.base},
		attributes: treeAttributes(asked.Encodes()),
	}
	if err = cmp.Or(err, s.write(at.GitDir)); err != nil {
		return fmt.Errorf("make a tree of %s: %w", r.base, err)
	}
	if _, err := r.g.exec(ctx, call{dir: at, args: []string{"read-tree", "-u", "--reset", r.base}}); err != nil {
		return fmt.Errorf("write the files of %s: %w", r.base, err)
	}
	if err := r.settle(at, past); err != nil {
		return fmt.Errorf("make the tree of %s a repository: %w", r.base, err)
	}
	return nil
}

// settle writes the git directory of a work tree, with the index of the view that wrote the files. It is younger than all of
// them: commands only read it, and would compare those of its own second each time.
func (r *Repo) settle(view Dir, past Past) error {
	dir := filepath.Join(view.WorkTree, ".git")
	s := skeleton{format: len(r.base), head: r.base, shallow: past.Shallow, attributes: asStored}
	if past.Commits == "" {
		s.shallow = []string{r.base}
	}
	if err := s.write(dir); err != nil {
		return err
	}
	files := map[string]string{
		"config": dotConfigOf(len(r.base)) + activeConfig, "packed-refs": packedHeader + past.Tags,
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, from := range []string{r.Objects(), past.Commits} {
		if err := linkObjects(filepath.Join(dir, "objects"), from); err != nil {
			return err
		}
	}
	data, err := wholeIndex(filepath.Join(view.GitDir, "index"), view.GitDir, len(r.base)/2)
	index, later := filepath.Join(dir, "index"), time.Now().Add(2*time.Second)
	if err == nil {
		err = os.WriteFile(index, data, 0o644)
	}
	return cmp.Or(err, os.Chtimes(index, later, later))
}

// linkObjects links the objects of one directory into another one.
func linkObjects(to, from string) error {
	if from == "" {
		return nil
	}
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		rel, outside := filepath.Rel(from, name)
		switch {
		case err != nil || outside != nil:
			return cmp.Or(err, outside)
		case rel == "info":
			return fs.SkipDir // it names other directories
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if err = os.Link(name, filepath.Join(to, rel)); errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
}

// Links lists the submodules of a commit: the commits that it records for them, by their places.
func (r *Repo) Links(ctx context.Context, commit string) (map[string]string, error) {
	entries, err := r.Files(ctx, commit)
	links := map[string]string{}
	for _, e := range entries {
		if e.Mode == ModeGitlink && plainPath(path.Clean(e.Path)) {
			links[e.Path] = e.OID
		}
	}
	return links, err
}
