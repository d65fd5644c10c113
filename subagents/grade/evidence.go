package grade

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"divisi/subagents/gate/trace"
	"divisi/subagents/grade/calls"
)

// The bounds of what is read of lists that compilers leave.
const (
	maxLists     = 20_000
	maxListBytes = 256 << 20
	maxListFile  = 16 << 20
	maxWalked    = 500_000
)

// evidence is left by compilers: the files that they read.
type evidence struct{ ran, compiled map[string]bool }

// listing reads lists: dependency files of C and Rust, and the inputs that Maven keeps. A list that is older than the gate, or a
// part of the patch, does not count.
type listing struct {
	root   *os.Root
	seen   string
	began  time.Time
	wanted map[string]bool
	found  map[string]bool
	left   int
}

// clockTick is how far the clock of a file system can be behind.
const clockTick = 20 * time.Millisecond

func evidenceOf(root *os.Root, seen string, files []File, began time.Time) evidence {
	e := evidence{map[string]bool{}, map[string]bool{}}
	began = began.Add(-clockTick)
	l := &listing{root: root, seen: seen, began: began, wanted: map[string]bool{}, found: e.compiled, left: maxListBytes}
	listed := false
	for _, f := range files {
		l.wanted[f.Path] = f.Odd == ""
		listed = listed || slices.Contains([]string{calls.C, calls.Rust, calls.Java, calls.Kotlin, calls.Scala}, f.Language)
	}
	if listed {
		l.walk()
	}
	return e
}

// walk reads all lists of the tree, those in ignored directories too. Of one that cannot be read nothing is known.
func (l *listing) walk() {
	lists, walked := 0, 0
	_ = fs.WalkDir(l.root.FS(), ".", func(name string, d fs.DirEntry, err error) error { // an error is the end of the lists
		walked++
		switch {
		case walked > maxWalked || lists > maxLists || l.left <= 0:
			return fs.SkipAll
		case err != nil:
			return nil
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case !d.Type().IsRegular() || l.changed(name):
		case path.Ext(name) == ".d":
			lists++
			l.read(name, depends)
		case d.Name() == "inputFiles.lst" && strings.Contains(name, "maven-status/"):
			lists++
			l.read(name, func(text string) []string { return strings.Split(text, "\n") })
		}
		return nil
	})
}

// changed reports whether a patch has a list: no compiler of the gate has left that.
func (l *listing) changed(name string) bool {
	_, changed := l.wanted[name]
	return changed
}

func (l *listing) read(name string, paths func(text string) []string) {
	file, err := trace.Open(l.root, name)
	if err != nil || file == nil {
		return
	}
	defer file.Close() // only read from
	info, err := file.Stat()
	if err != nil || info.ModTime().Before(l.began) || info.Size() > min(maxListFile, int64(l.left)) {
		return
	}
	text := make([]byte, info.Size())
	n, _ := file.ReadAt(text, 0)
	l.left -= n
	for _, p := range paths(string(text[:n])) {
		l.add(name, strings.TrimSpace(p))
	}
}

// add notes a path of a list: it is relative to the top, or to the directory of the list or one above.
func (l *listing) add(list, p string) {
	if rest, ok := strings.CutPrefix(p, l.seen+"/"); ok {
		p = rest
	}
	if p == "" || path.IsAbs(p) {
		return
	}
	for dir := path.Dir(list); ; dir = path.Dir(dir) {
		name := path.Join(dir, p)
		if l.wanted[name] {
			l.found[name] = true
		}
		if dir == "." {
			return
		}
	}
}

// depends returns the dependencies of a file that compilers write for make.
func depends(text string) (paths []string) {
	text = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text)
	for line := range strings.Lines(text) {
		_, after, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		after = strings.NewReplacer("\\ ", "\x00", "$$", "$", "\\#", "#").Replace(after)
		for p := range strings.FieldsSeq(after) {
			paths = append(paths, strings.ReplaceAll(p, "\x00", " "))
		}
	}
	return paths
}
