package environment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"divisi/contextscope/artifact"
)

// Read is what a setup read of its tree: on a commit that has the same it leaves the same.
type Read struct {
	// Files are the ids of the files that it opened, by their paths.
	Files map[string]string `json:"files"`
	// Outline is what it may have seen of all files without opening one.
	Outline string `json:"outline"`
	// Built reports that it has built sources and kept nothing of that: then the paths of all files do not count.
	Built bool `json:"built,omitempty"`
}

// files are what stands for all of it in a recipe.
func (r *Read) files() map[string]string {
	files := maps.Clone(r.Files)
	files["outline:"] = r.Outline
	return files
}

// same reports whether a tree has what was read.
func (r *Read) same(t *Tree) bool {
	for name, id := range r.Files {
		if t.Blobs[name] != id {
			return false
		}
	}
	if !r.Built {
		return r.Outline == t.Outline
	}
	for name := range t.Blobs {
		if _, known := r.Files[name]; !known && describes(name) {
			return false
		}
	}
	return true
}

// Fits reports whether a tree has what the setup read; false where that is not known.
func (e *Environment) Fits(t *Tree) bool { return e.Read != nil && e.Read.same(t) }

// Outline is what a command sees of files without opening one, by a line for each.
func Outline(lines []string) string {
	slices.Sort(lines)
	return artifact.Digest([]byte(strings.Join(lines, "\x00")))
}

// DidRead notes what the setup read; without it, the setup is taken to have read the whole tree.
func (m *Making) DidRead(r *Read) { m.manifest.Read = r }

// Unlocked notes that the setup resolved versions by itself, since no lock file of the tree names them: what it left is then a
// part of the digest.
func (m *Making) Unlocked() { m.unlocked = true }

// digest names the environment in receipts, by what the setup read and, where that does not decide it, what it wrote.
func (m *Making) digest(list []byte) (string, error) {
	r := m.manifest.Recipe
	if _, whole := r.Files[WholeTree]; whole && m.manifest.Read != nil {
		r.Files = m.manifest.Read.files()
	}
	if !m.unlocked {
		return r.Digest(), nil
	}
	var wrote strings.Builder
	for line := range strings.Lines(string(list)) {
		e, name, err := parseLine(line)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&wrote, "%o %q %q\n", uint32(e.mode), e.what, name)
	}
	return artifact.Digest([]byte(r.Digest() + wrote.String())), nil
}

// Same opens the newest environment that a setup on another commit left, which read nothing of it that a tree has otherwise; the
// error is ErrNone where there is none. The recipe is that of the tree.
func (s *Store) Same(r Recipe, t *Tree) (*Environment, error) {
	if _, whole := r.Files[WholeTree]; !whole {
		return nil, ErrNone
	}
	ids, err := s.ids()
	if err != nil {
		return nil, fmt.Errorf("list the environments: %w", err)
	}
	r.Files = nil
	var found []Manifest
	for _, id := range ids {
		m, err := readManifest(filepath.Join(s.dir, id), id)
		if err != nil { // it is not complete, or is made again when it is asked for by its name
			continue
		}
		_, whole := m.Recipe.Files[WholeTree]
		m.Recipe.Files = nil
		if whole && !m.Passing && m.Read != nil && m.Recipe.Key() == r.Key() && m.Read.same(t) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b Manifest) int { return cmp.Or(b.Made.Compare(a.Made), strings.Compare(a.ID, b.ID)) })
	var damaged *DamagedError
	for _, m := range found {
		if e, err := s.Open(m.ID); err == nil || !errors.Is(err, ErrNone) && !errors.As(err, &damaged) {
			return e, err
		}
	}
	return nil, ErrNone
}
