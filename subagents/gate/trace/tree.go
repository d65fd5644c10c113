package trace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"divisi/internal/lazyregexp"
)

// The bounds of the work on one result.
const (
	maxWork    = 1_000_000 // attempts to find a word in the tree, for all failures and again for imports
	lookupCost = 10        // what a question to the file system counts
	maxDepth   = 64
	maxBases   = 8
)

type kind int8

const (
	nothing kind = iota
	regular
	directory
)

// tree answers from a work tree, and remembers its answers.
type tree struct {
	root *os.Root
	// bases are the directories that paths may be relative to.
	bases    []string
	kinds    map[string]kind
	packages map[string]*goPackage
	// modules has the directories of the known modules, goMods the module that each directory's go.mod names.
	modules, goMods map[string]string
	resolved        map[string]string
	left            int
	// files and bytes are how much of Go sources may still be read.
	files, bytes int
	// poms has the directories of the Maven modules by their artifacts and names, javaRoots where they keep their classes.
	poms      map[string]string
	javaRoots []string
	// builds is set where it is to be known what is built of packages.
	builds *builds
	err    error
}

func newTree(root *os.Root, command []string) *tree {
	t := &tree{
		root: root, kinds: map[string]kind{}, packages: map[string]*goPackage{},
		modules: map[string]string{}, goMods: map[string]string{}, resolved: map[string]string{},
		left: maxWork, files: maxGoFiles, bytes: maxGoBytes,
	}
	t.bases = append(t.placesOf(command), ".")
	t.findModules()
	return t
}

var changesTo = lazyregexp.New(`(?:^|[;&|(]\s*)cd\s+([^\s;&|)]+)`)

// placesOf returns the directories that a command works in: values of its options (go -C dir, npm --prefix=dir) and where its
// script changes to.
func (t *tree) placesOf(command []string) []string {
	var dirs []string
	add := func(word string) {
		p := path.Clean(word)
		if !validPath(p) || len(dirs) == maxBases {
			return
		}
		if t.kind(p) == regular {
			p = path.Dir(p)
		}
		if p != "." && t.kind(p) == directory && !slices.Contains(dirs, p) {
			dirs = append(dirs, p)
		}
	}
	for i, arg := range command {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			add(value)
		} else if i > 0 && strings.HasPrefix(command[i-1], "-") {
			add(arg)
		}
		for _, m := range changesTo.FindAllStringSubmatch(arg, -1) {
			add(m[1])
		}
	}
	return dirs
}

// above returns a path's directory and those above it.
func (t *tree) above(p string) []string {
	if t.kind(p) == regular {
		p = path.Dir(p)
	}
	var dirs []string
	for ; p != "."; p = path.Dir(p) {
		dirs = append(dirs, p)
	}
	return append(dirs, ".")
}

// resolve returns the first path that a word stands for in one of the directories, or the directory of a package that it names;
// "" for none.
func (t *tree) resolve(word string, bases []string) string {
	if path.IsAbs(word) {
		return ""
	}
	for _, base := range bases {
		if t.left--; t.left <= 0 {
			return ""
		}
		if p := path.Join(base, word); p != base && validPath(p) && t.kind(p) != nothing {
			return p
		}
	}
	if dir, name := path.Split(word); dir != "" {
		name, _, _ = strings.Cut(name, ".") // a function of the package
		return t.inModule(path.Join(dir, name))
	}
	return ""
}

// validPath reports whether a path can be one below the top.
func validPath(p string) bool { return p != "." && fs.ValidPath(p) && strings.IndexByte(p, 0) < 0 }

// kind never looks behind a symbolic link: what is there has another path, or is not of the tree.
func (t *tree) kind(p string) kind {
	if p == "." {
		return directory
	}
	if known, ok := t.kinds[p]; ok {
		return known
	}
	if strings.Count(p, "/") > maxDepth || t.left <= 0 || t.kind(path.Dir(p)) != directory {
		return nothing
	}
	t.left -= lookupCost
	info, err := t.root.Lstat(p)
	t.note(err)
	switch {
	case err != nil:
		t.kinds[p] = nothing
	case info.IsDir():
		t.kinds[p] = directory
	case info.Mode().IsRegular():
		t.kinds[p] = regular
	default:
		t.kinds[p] = nothing
	}
	return t.kinds[p]
}

// note keeps an error that says nothing about the tree. Any other means that there is no such path.
func (t *tree) note(err error) {
	if t.err == nil && exhausted(err) {
		t.err = err
	}
}

func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// read returns the beginning of a regular file; nil for anything else.
func (t *tree) read(name string, limit int64) []byte {
	file, err := Open(t.root, name)
	if t.note(err); file == nil {
		return nil
	}
	defer file.Close() // only read from
	data, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil
	}
	return data
}

// Open opens a regular file; it returns nil for what is none. There may be a pipe, now or in a moment, that an agent has left:
// opening must not wait for a writer, and the file that was opened is checked.
func Open(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if exhausted(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, file.Close()
	}
	return file, nil
}
