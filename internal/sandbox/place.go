package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"divisi/internal/gocache"
)

// Where commands find their place, if the machine can show it to them there: the same for every slot, so that build tools, which
// write paths into what they cache, find what they cached in another.
const (
	seenTree = "/divisi/tree"
	seenHome = "/divisi/home"
	seenTemp = "/divisi/tmp"

	seenDownloads = "/divisi/downloads"
	seenModules   = "/divisi/modules"
	seenLender    = "/divisi/go-cache"
	seenHelper    = "/divisi/" + gocache.Marker
)

// Place is what a command has to itself: a work tree, a home and a directory for temporary files. It may write them, but for the
// tree where KeepTree says so. Each is an absolute path or, where there is none, empty.
type Place struct {
	Tree, Home, Temp string
	KeepTree         bool
	// Downloads are what a setup has downloaded; see Cache.
	Downloads DownloadDirs
}

// DownloadDirs are directories with what the package managers of one repository have downloaded. Only a setup writes them.
// Every other command sees a private view: what it writes there, and the locks that it takes, no other command meets.
type DownloadDirs struct {
	// Dir is for all package managers but Go's, which keeps its modules in Modules. Both are empty where there are no downloads.
	Dir, Modules string
	// Lent is the user's module cache, which is seen below Modules; it need not exist. Where it does, a private view of both is
	// seen at its own path, because the go command's cache has the paths of modules in its keys.
	Lent string
	// Lender is the socket of a gocache.Lender, and Helper the program that asks it; both are empty for a command without them.
	Lender, Helper string
	// Scratch is an existing directory for what commands write into their views.
	Scratch string
	// Fill lets the command write the directories themselves.
	Fill bool
}

// Seen returns the place as commands see it: at constant paths where they have a mount namespace, else where it is. What tells a
// command where it is (HOME, TMPDIR, GIT_WORK_TREE) must be made from this.
func (p Place) Seen() Place { return p.seenAt(Probe()) }

func (p Place) seenAt(l Level) Place {
	if !l.have(Namespaces) {
		return p
	}
	return p.shown(l)
}

func (p Place) shown(l Level) Place {
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
	if p.Downloads.Dir != "" {
		seen.Downloads = DownloadDirs{Dir: seenDownloads, Modules: seenModules}
		if l.views() && p.Downloads.lends() {
			seen.Downloads.Modules = p.Downloads.Lent
		}
	}
	return seen
}

// lends reports whether a view of the modules has the user's.
func (d DownloadDirs) lends() bool {
	info, err := os.Stat(d.Lent)
	return !d.Fill && d.Scratch != "" && err == nil && info.IsDir()
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
