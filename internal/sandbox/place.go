package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/egress"
	"divisi/internal/gocache"
)

// Where commands find their place, if the machine can show it to them there: the same for every slot, so that build tools, which
// write paths into what they cache, find what they cached in another.
const (
	seenTree = "/divisi/tree"
	seenHome = "/divisi/home"
	seenTemp = "/divisi/tmp"

	seenTools  = "/divisi/tools"
	seenStores = "/divisi/stores"

	seenDownloads = "/divisi/downloads"
	seenModules   = "/divisi/modules"
	seenLender    = "/divisi/go-cache"
	seenHelper    = "/divisi/" + gocache.Marker
)

// Place is the private room of a command: a work tree, a home and a directory for temporary files. It may write them, but for the
// tree where KeepTree says so. Each is an absolute path or, where there is none, empty.
type Place struct {
	Tree, Home, Temp string
	KeepTree         bool
	// Tools are the programs and Stores the packages that a setup has left outside the tree. Only a setup, with Fill, writes
	// them. The others read the tools, and see a private view of the stores where they have a Keeper.
	Tools, Stores string
	Fill          bool
	// Layers are seen below the tree where there are namespaces. Those that are not ReadOnly can be written in the views that a
	// Keeper has made of them, and are only read without one.
	Layers []Layer
	// Keeper, where there is one, holds the views of Layers and Stores for the commands of one attempt, and their network.
	Keeper *Keeper
	// Ahead, where there is one, starts stages of commands ahead for one attempt, role and audience.
	Ahead *Ahead
	// Downloads are the files that a setup downloaded; see Cache.
	Downloads DownloadDirs
	// Builds is the directory that is the build cache of gates in the place of the one that Caches has; empty for that one.
	Builds string
	// Disk, where there is one, bounds what the commands of one attempt write together.
	Disk *Disk
	// Owner holds the grants of the machine's owner.
	Owner Owner
	// InitBranch is how git init names the first branch; empty for git's own choice.
	InitBranch string
}

// Owner holds the grants of a machine's owner to the commands of others. Its zero value is no bound beside those of Divisi.
type Owner struct {
	// Reach are the hosts that commands with the network reach.
	Reach egress.Reach
	// MaxMemory and MaxProcesses take the place of those of a Command that are zero.
	MaxMemory    int64
	MaxProcesses int
	// MaxFile is the most, in bytes, that a file can grow to; 0 for what Divisi chooses.
	MaxFile uint64
	// MaxDisk is the most, in bytes, that the commands of one attempt write together: see NewDisk.
	MaxDisk int64
}

// Layer is a directory, or a file, of the machine that is seen below the trees of commands and never written. What commands write
// over it goes with their attempt.
type Layer struct {
	// Path is where it is seen, below the tree, with slashes. Where there is nothing of its kind, or a link leads there, it is
	// not seen.
	Path string
	// Lower is an absolute path: of a directory, or of a regular file, which is seen in the place of one and is ReadOnly.
	Lower string
	// ReadOnly has commands only read it.
	ReadOnly bool
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
	}{
		{p.Tree, seenTree, &seen.Tree},
		{p.Home, seenHome, &seen.Home},
		{p.Temp, seenTemp, &seen.Temp},
		{p.Tools, seenTools, &seen.Tools},
		{p.Stores, seenStores, &seen.Stores},
	} {
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

// ShowsLayers reports whether commands see what Place.Layers has.
func ShowsLayers() bool { return Probe().have(Namespaces) }

// Inside reports whether a path is one of those that commands alone have, in place of one of the machine.
func Inside(path string) bool { return ShowsLayers() && above(filepath.Dir(seenTree), []string{path}) }

// TreePath is where commands see a work tree.
func TreePath(tree string) string { return Place{Tree: tree}.Seen().Tree }

// path turns a path of the machine into the one that a command sees to whom the place is shown as seen.
func (p Place) path(host string, seen Place) string {
	for i, dir := range p.dirs() {
		if host == dir || above(dir, []string{host}) {
			return filepath.Join(seen.dirs()[i], strings.TrimPrefix(host, dir))
		}
	}
	return host
}

func (p Place) dirs() []string {
	return slices.DeleteFunc([]string{p.Tree, p.Home, p.Temp, p.Tools, p.Stores}, func(dir string) bool { return dir == "" })
}

// writes reports whether the command may write a directory of its place.
func (p Place) writes(dir string) bool {
	switch dir {
	case p.Tree:
		return !p.KeepTree
	case p.Tools, p.Stores:
		return p.Fill
	}
	return true
}

// kept reports whether a directory of the place is seen through the keeper's view of it.
func (p Place) kept(dir string) bool {
	return p.Keeper != nil && dir != "" && dir == p.Stores && !p.Fill
}
