package grade

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"divisi/subagents/grade/calls"
)

// opened lists the files that were opened while a gate ran: files of the tree, and compiled modules of Python.
type opened struct {
	paths map[string]bool
	// lack has, for files that could not be watched, why.
	lack map[string]string
}

// lacks is why it is not known whether a file was opened; empty where it is.
func (o *opened) lacks(name string) string {
	if o.paths[name] {
		return ""
	}
	return o.lack[name]
}

// watched are the files that a gate is watched with: those of a patch come first.
func watched(files []File, modules map[string]stamp) (names []string) {
	for i := range files {
		names = append(names, files[i].Path)
	}
	return append(names, slices.Sorted(maps.Keys(modules))...)
}

// Touched watches files of a tree while a command works in it. end returns those whose content it may know, also from what Python
// has compiled of them, and why that is not known of all; "" where it is.
func Touched(dir string, names []string) (end func() (touched []string, lack string)) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return func() ([]string, string) { return nil, err.Error() }
	}
	files := make([]File, len(names))
	for i, name := range names {
		files[i] = kindOf(name)
	}
	before := modulesOf(root, files)
	w := newWatch(dir, watched(files, before), knowing)
	return func() (touched []string, lack string) {
		defer root.Close() // only read from
		o := w.end()
		ran := o.modules(root, files, before)
		for _, name := range names {
			if lack = o.lacks(name); lack != "" {
				return nil, lack
			}
			if o.paths[name] || slices.Contains(ran, name) {
				touched = append(touched, name)
			}
		}
		slices.Sort(touched)
		return touched, ""
	}
}

// stamp tells two contents of a file apart.
type stamp struct {
	at   time.Time
	size int64
}

// cached is where Python keeps what it has compiled.
const cached = "__pycache__"

// modulesOf lists what Python has compiled of files, with the time of each.
func modulesOf(root *os.Root, files []File) map[string]stamp {
	all := map[string]stamp{}
	known := map[string][]fs.DirEntry{}
	for _, f := range files {
		if f.Language != calls.Python {
			continue
		}
		dir := path.Join(path.Dir(f.Path), cached)
		entries, ok := known[dir]
		if !ok {
			entries = entriesOf(root, dir)
			known[dir] = entries
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && ofModule(e.Name(), f.Path) {
				all[path.Join(dir, e.Name())] = stamp{info.ModTime(), info.Size()}
			}
		}
	}
	return all
}

// maxEntries bounds what is read of one directory.
const maxEntries = 20_000

func entriesOf(root *os.Root, dir string) []fs.DirEntry {
	if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	open, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer open.Close() // only read from
	entries, _ := open.ReadDir(maxEntries)
	return entries
}

// ofModule reports whether a file, such as a.cpython-312.pyc, is compiled from a module. pytest writes its own of tests.
func ofModule(compiled, source string) bool {
	name, ok := strings.CutPrefix(compiled, strings.TrimSuffix(path.Base(source), path.Ext(source))+".")
	return ok && strings.HasSuffix(name, ".pyc")
}

// modules returns the files of Python that were imported: what was compiled of them is new, or was opened.
func (o *opened) modules(root *os.Root, files []File, before map[string]stamp) (ran []string) {
	now := modulesOf(root, files)
	fresh := slices.DeleteFunc(slices.Collect(maps.Keys(now)), func(name string) bool {
		return now[name] == before[name] && !o.paths[name]
	})
	for _, f := range files {
		dir := path.Join(path.Dir(f.Path), cached)
		if f.Language == calls.Python && slices.ContainsFunc(fresh, func(name string) bool {
			return path.Dir(name) == dir && ofModule(path.Base(name), f.Path)
		}) {
			ran = append(ran, f.Path)
		}
	}
	return ran
}
