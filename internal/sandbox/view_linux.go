package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"divisi/internal/sandbox/stage"
)

// view lists the files of the machine that a command may see, beside the system's.
type view struct {
	// given lists the writable directories and the tree, each with the place where the command sees it.
	given []stage.Mount
	// reads are the given paths that it may read, tools those that its environment leads to.
	reads, tools []string
	hidden       []string
}

// newView inspects the paths of a command. Those to be written must exist, and not be links.
func newView(c Command, shown Place) (*view, error) {
	hidden, except := whatIsHidden()
	v := &view{hidden: hidden, tools: toolchains(c.Env)}
	for i, dir := range c.Place.dirs() {
		if c.Place.kept(dir) {
			continue
		}
		v.given = append(v.given, stage.Mount{From: dir, To: shown.dirs()[i], Write: c.Place.writes(dir)})
	}
	if shown.Tree != c.Place.Tree { // else what is seen of layers lies in the tree itself
		for _, layer := range c.Place.Layers {
			if c.Place.Keeper != nil && !layer.ReadOnly {
				continue
			}
			v.given = append(v.given, stage.Mount{From: layer.Lower, To: shown.Tree, Below: layer.Path})
		}
	}
	for _, path := range c.Writable {
		v.given = append(v.given, stage.Mount{From: filepath.Clean(path), To: filepath.Clean(path), Write: true})
	}
	for _, w := range v.given {
		info, err := os.Lstat(w.From)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = fmt.Errorf("%w: it is a symbolic link", ErrInvalid)
		}
		if err != nil {
			return nil, fmt.Errorf("give the command %s: %w", w.From, err)
		}
	}
	for _, path := range slices.Concat(c.Readable, except, []string{c.Dir}) {
		path = filepath.Clean(path)
		if _, err := os.Stat(path); err == nil && path != "/" && c.Place.path(path, shown) == path {
			v.reads = append(v.reads, path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("allow reading below %s: %w", path, err)
		}
	}
	return v, nil
}

// addDownloads adds what the command sees of downloads: the directories themselves to the setup, to others, where the machine
// can, layers with a directory of the command's own on top, and else the directories to read.
func (v *view) addDownloads(l Level, d, shown DownloadDirs, id string) error {
	if d.Dir == "" {
		return nil
	}
	if d.Helper != "" {
		v.given = append(v.given, stage.Mount{From: d.Lender, To: seenLender}, stage.Mount{From: d.Helper, To: seenHelper})
	}
	for i, dir := range []string{d.Dir, d.Modules} {
		m := stage.Mount{From: dir, To: dir, Write: d.Fill}
		if l.have(Namespaces) {
			m.To = []string{shown.Dir, shown.Modules}[i]
		}
		if l.views() && !d.Fill {
			m.From, m.Write = filepath.Join(d.Scratch, id, strconv.Itoa(i)), true
			m.Layers = []stage.Mount{{From: dir}}
			for _, name := range []string{stage.Upper, stage.Work} {
				if err := os.MkdirAll(filepath.Join(m.From, name), 0o700); err != nil {
					return fmt.Errorf("make a view of %s: %w", dir, err)
				}
			}
			if dir == d.Modules && d.lends() {
				m.Layers = append(m.Layers, stage.Mount{From: d.Lent})
			}
		}
		v.given = append(v.given, m)
	}
	return nil
}

// mounts are the parts of a root, parents first. What is hidden and lies in a part is covered, and what was given below it
// comes on top.
func (v *view) mounts() []stage.Mount {
	list := slices.Concat(system(), v.given)
	seen := func(path string) bool { return covered(path, list, v.hidden) }
	for _, path := range slices.Sorted(slices.Values(v.reads)) {
		if !seen(path) {
			list = append(list, stage.Mount{From: path, To: path, Maybe: true})
		}
	}
	for _, path := range slices.Sorted(slices.Values(v.tools)) {
		if !seen(path) && !slices.ContainsFunc(v.hidden, func(h string) bool { return within(path, h) }) {
			list = append(list, stage.Mount{From: path, To: path, Maybe: true})
		}
	}
	for _, path := range v.hidden {
		if slices.ContainsFunc(list, func(m stage.Mount) bool { return !m.Write && m.From == m.To && within(path, m.To) }) {
			list = append(list, stage.Mount{To: path})
		}
	}
	slices.SortStableFunc(list, func(a, b stage.Mount) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Below, b.Below),
			cmp.Compare(a.From, b.From)) // the cover, which is from nowhere, comes first
	})
	return list
}

// covered reports whether a part shows a path already, with nothing hidden in between.
func covered(path string, list []stage.Mount, hidden []string) bool {
	return slices.ContainsFunc(list, func(m stage.Mount) bool {
		return (m.From == m.To || m.Link != "") && within(path, m.To) &&
			!slices.ContainsFunc(hidden, func(h string) bool { return within(path, h) && within(h, m.To) })
	})
}

// within reports whether a path is another or lies below it.
func within(path, dir string) bool { return path == dir || above(dir, []string{path}) }

// rules are the paths of Landlock rules where the command sees the machine's own files. Landlock knows permissions only: of a
// directory with something hidden in it every other entry is permitted.
func (v *view) rules() (reads, writes []string) {
	for _, m := range system() {
		if m.Link == "" {
			reads = append(reads, m.From)
		}
	}
	reads = slices.Concat(reads, []string{"/proc", "/etc/resolv.conf"}, publicSettings(), v.ownTools())
	var open []string
	for _, path := range reads {
		open = append(open, around(path, v.hidden)...)
	}
	for _, path := range v.reads {
		if slices.ContainsFunc(v.hidden, func(h string) bool { return within(path, h) }) {
			open = append(open, path) // it was given although what is around it is hidden
		} else {
			open = append(open, around(path, v.hidden)...)
		}
	}
	for _, m := range v.given {
		if m.Write {
			writes = append(writes, m.From)
		} else {
			open = append(open, m.From)
		}
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		if _, err := os.Stat(path); err == nil {
			writes = append(writes, path)
		}
	}
	return open, writes
}

// ownTools are those that do not lie in what the command was given: there a rule permits them already, and its author may
// have put a link to anywhere in their place.
func (v *view) ownTools() []string {
	return slices.DeleteFunc(slices.Clone(v.tools), func(path string) bool {
		return slices.ContainsFunc(v.reads, func(dir string) bool { return within(path, dir) }) ||
			slices.ContainsFunc(v.given, func(m stage.Mount) bool { return within(path, m.From) })
	})
}

// around returns a path, or, where something hidden lies in it, all that can be read around that.
func around(path string, hidden []string) []string {
	if slices.ContainsFunc(hidden, func(h string) bool { return within(path, h) }) {
		return nil
	}
	if !above(path, hidden) {
		return []string{path}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // what cannot be listed stays closed
	}
	var open []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			open = append(open, around(filepath.Join(path, e.Name()), hidden)...)
		}
	}
	return open
}
