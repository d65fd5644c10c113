package sandbox

import (
	"path/filepath"
	"strings"
)

// Where commands find their place, if the machine can show it to them there: the same for every slot, so that build tools, which
// write paths into what they cache, find what they cached in another.
const (
	seenTree = "/divisi/tree"
	seenHome = "/divisi/home"
	seenTemp = "/divisi/tmp"
)

// Place is what a command has to itself: a work tree, a home and a directory for temporary files. It may write them, but for the
// tree where KeepTree says so. Each is an absolute path or, where there is none, empty.
type Place struct {
	Tree, Home, Temp string
	KeepTree         bool
}

// Seen returns the place as commands see it: at constant paths where they have a mount namespace, else where it is. What tells a
// command where it is (HOME, TMPDIR, GIT_WORK_TREE) must be made from this.
func (p Place) Seen() Place {
	if !Probe().have(Namespaces) {
		return p
	}
	return p.shown()
}

func (p Place) shown() Place {
	var seen Place
	for _, pair := range []struct {
		is     string
		as     string
		result *string
	}{{p.Tree, seenTree, &seen.Tree}, {p.Home, seenHome, &seen.Home}, {p.Temp, seenTemp, &seen.Temp}} {
		if pair.is != "" {
			*pair.result = pair.as
		}
	}
	return seen
}

// TreePath is where commands see a work tree.
func TreePath(tree string) string { return Place{Tree: tree}.Seen().Tree }

// path turns a path of the machine into the one that a command sees to whom the place is shown as seen.
func (p Place) path(host string, seen Place) string {
	for _, dir := range [][2]string{{p.Tree, seen.Tree}, {p.Home, seen.Home}, {p.Temp, seen.Temp}} {
		if dir[0] == "" {
			continue
		}
		if host == dir[0] || above(dir[0], []string{host}) {
			return filepath.Join(dir[1], strings.TrimPrefix(host, dir[0]))
		}
	}
	return host
}

func (p Place) dirs() []string {
	var dirs []string
	for _, dir := range []string{p.Tree, p.Home, p.Temp} {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
