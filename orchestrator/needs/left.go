package needs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
)

// ownPlaces are where Divisi reads the checkout itself, committed or not: what lies there is not left behind by a run.
var ownPlaces = []string{spec.OwnDir, ".claude/agents", ".gemini/agents"}

// editors are the files that name divisi mcp to an editor. Where git does not track them, a run leaves no code behind.
var editors = []string{".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"}

// Left are the changes of a checkout that a run from its commit leaves behind: not what is in the files that it reads itself.
func Left(c *git.Checkout, files []string) []string {
	own := slices.Concat(ownPlaces, below(c.Top, files))
	return slices.DeleteFunc(slices.Clone(c.Dirty), func(p string) bool {
		return within(p, own, c.Top) || slices.Contains(c.Untracked, p) && within(p, slices.Concat(editors, own), c.Top)
	})
}

// below are files as paths below dir, those that lie there.
func below(dir string, files []string) (out []string) {
	for _, f := range files {
		abs, err := filepath.Abs(f)
		if err != nil || f == "" {
			continue
		}
		if parent, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(parent, filepath.Base(abs))
		}
		if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

var errOther = errors.New("another file")

// within reports whether a path below dir is one of some places, or lies in one. Git names a directory without tracked files by
// itself: each file in it has to lie in one of the places.
func within(p string, places []string, dir string) bool {
	in := func(p string) bool {
		return slices.ContainsFunc(places, func(own string) bool { return p == own || strings.HasPrefix(p, own+"/") })
	}
	if in(p) || !strings.HasSuffix(p, "/") {
		return in(p)
	}
	err := filepath.WalkDir(filepath.Join(dir, p), func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if rel, err := filepath.Rel(dir, at); err != nil || !in(filepath.ToSlash(rel)) {
			return errors.Join(errOther, err)
		}
		return nil
	})
	return err == nil
}
