package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/contextscope/artifact"
	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// Content is the part of the checkout in the trees of one run. Nil has nothing.
type Content struct {
	dir string
	// links are the submodules of the base commit, files the files that Git LFS keeps, by their paths.
	links map[string]link
	files map[string]git.LFSFile
	// modules are the submodules that are there, missing the places of those that are not; pointers are the files whose contents
	// are not there.
	modules           []Module
	missing, pointers []string
	// more counts the files beyond maxFiles.
	more int
}

// Empty reports whether the base commit has neither submodules nor files that Git LFS keeps.
func (c *Content) Empty() bool { return c == nil || len(c.links) == 0 && len(c.files) == 0 }

// Digest stands for what is there of it, and what is not; it is empty where the commit alone tells.
func (c *Content) Digest() string {
	if c.Empty() {
		return ""
	}
	return artifact.Digest(fmt.Appendf(nil, "%q %q", c.modules, c.pointers))
}

// Modules are the submodules that are there.
func (c *Content) Modules() []Module {
	if c == nil {
		return nil
	}
	return c.modules
}

// Pointers are those of Git LFS whose contents are there, each once.
func (c *Content) Pointers() (all []spec.Pointer) {
	if c == nil {
		return nil
	}
	for name, f := range c.files {
		if !slices.Contains(c.pointers, name) {
			all = append(all, f.Pointer)
		}
	}
	slices.SortFunc(all, func(a, b spec.Pointer) int { return cmp.Or(cmp.Compare(a.OID, b.OID), cmp.Compare(a.Size, b.Size)) })
	return slices.Compact(all)
}

// walk keeps the submodules that are recorded in one, and those in them.
func (c *Content) walk(ctx context.Context, way []step, links map[string]link, keep keep) error {
	for _, place := range slices.Sorted(maps.Keys(links)) {
		if len(c.modules)+len(c.missing) >= maxModules {
			return fmt.Errorf("the commit has more than %d submodules, with those in them", maxModules)
		}
		l := links[place]
		m := Module{l.Commit, append(slices.Clone(way), step{place, l.Name})}
		inner, err := keep(ctx, m)
		switch {
		case errors.Is(err, git.ErrNoModule):
			if l.Name != "" { // else no command can get it
				c.missing = append(c.missing, m.Place())
			}
			continue
		case err != nil:
			return fmt.Errorf("take the submodule %s: %w", m.Place(), err)
		}
		c.modules = append(c.modules, m)
		if err := c.walk(ctx, m.way, inner, keep); err != nil {
			return err
		}
	}
	return nil
}

// maxNamed bounds the paths that a message names.
const maxNamed = 10

// Missing are messages about what the checkout does not have, each with the command that gets it.
func (c *Content) Missing() (messages []string) {
	if c.Empty() {
		return nil
	}
	if len(c.missing) > 0 {
		command, tops := "git submodule update --init", map[string]bool{}
		for _, place := range c.missing {
			top := place
			for outer := range c.links {
				if strings.HasPrefix(place, outer+"/") {
					top, command = outer, "git submodule update --init --recursive"
				}
			}
			tops[top] = true
		}
		for _, top := range slices.Sorted(maps.Keys(tops)) {
			command += " " + text.Shell(top)
		}
		messages = append(messages, fmt.Sprintf("%s not checked out at the commit that is recorded: %s. "+
			"Trees have an empty directory there. To fill it: %s", text.Count(len(c.missing), "submodule"),
			strings.Join(text.Few(slices.Sorted(slices.Values(c.missing)), maxNamed), ", "), command))
	}
	if len(c.pointers) > 0 {
		messages = append(messages, fmt.Sprintf("%s of Git LFS without content in the checkout: %s. Trees have the pointer "+
			"there. To have the content: git lfs pull", text.Count(len(c.pointers), "file"),
			strings.Join(text.Few(c.pointers, maxNamed), ", ")))
	}
	if c.more > 0 {
		messages = append(messages, fmt.Sprintf("%d more files of Git LFS stay pointers: trees have the content of at most %d",
			c.more, maxFiles))
	}
	return messages
}

// Layers are the layers of a tree that holds a commit of the mirror, parents first. A file that is no longer the base's stays as
// it is.
func (c *Content) Layers(ctx context.Context, mirror *git.Repo, commit string) ([]sandbox.Layer, error) {
	if c.Empty() {
		return nil, nil
	}
	paths := slices.Concat(slices.Collect(maps.Keys(c.links)), slices.Collect(maps.Keys(c.files)))
	if len(paths) > maxAsked {
		paths = nil // all
	}
	entries, err := mirror.FilesUnder(ctx, commit, paths...)
	if err != nil {
		return nil, err
	}
	var layers []sandbox.Layer
	for _, e := range entries {
		if _, is := c.links[e.Path]; is && e.Mode == git.ModeGitlink {
			if layers, err = c.lay(layers, e.Path, e.OID, 0); err != nil {
				return nil, err
			}
		}
		f, is := c.files[e.Path]
		lower := filepath.Join(c.dir, lfsDir, f.Pointer.OID)
		if info, err := os.Stat(lower); is && f.OID == e.OID && err == nil && info.Size() == f.Pointer.Size {
			layers = append(layers, sandbox.Layer{Path: e.Path, Lower: lower, ReadOnly: true})
		}
	}
	return layers, nil
}

// maxAsked bounds the paths that git is asked for on one command line.
const maxAsked = 500

// lay adds a submodule, and those in it.
func (c *Content) lay(layers []sandbox.Layer, place, commit string, depth int) ([]sandbox.Layer, error) {
	dir := filepath.Join(c.dir, modulesDir, commit)
	links, err := readLinks(dir)
	if errors.Is(err, fs.ErrNotExist) || depth > maxDepth {
		return layers, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inspect the submodule %s: %w", place, err)
	}
	layers = append(layers, sandbox.Layer{Path: place, Lower: filepath.Join(dir, treeDir), ReadOnly: true})
	for _, inner := range slices.Sorted(maps.Keys(links)) {
		if layers, err = c.lay(layers, path.Join(place, inner), links[inner].Commit, depth+1); err != nil {
			return nil, err
		}
	}
	return layers, nil
}
