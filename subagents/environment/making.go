package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"divisi/internal/sandbox"
	"divisi/internal/text"
)

// The bounds of an environment.
const (
	maxEntries = 2_000_000
	maxBytes   = 64 << 30
)

// BadContentError reports that what a setup left cannot become an environment.
type BadContentError struct{ Why string }

// Error reports why.
func (e *BadContentError) Error() string { return "the environment cannot be kept: " + e.Why }

// Making is an environment that is being made. It is not complete before its fill has returned.
type Making struct {
	// Dir is the directory of the environment.
	Dir string

	manifest Manifest
	// want is the content that it is to have; "" for any.
	want string
	// search are the directories of the machine's programs, into which links may lead.
	search []string
	// tops are the work trees and the checkout that it was made from, as commands name them.
	tops []string
	// own has the directories of the packages of these, by the text of their manifests; nil until one is compared.
	own map[string][]string
	// again reports that one that was passing is made again.
	again bool
	// unlocked reports that what the setup left depends on more than the recipe.
	unlocked bool
}

// Tools is $DIVISI_TOOLS of the setup.
func (m *Making) Tools() string { return filepath.Join(m.Dir, toolsDir) }

// Stores is where package managers keep what they would keep in a home.
func (m *Making) Stores() string { return filepath.Join(m.Dir, storesDir) }

// Note adds something that a person should know.
func (m *Making) Note(note string) { m.manifest.Notes = append(m.manifest.Notes, note) }

// Downloaded notes what the setup has left in the caches: paths from the directory of the caches on.
func (m *Making) Downloaded(names []string) { m.manifest.Downloads = names }

// Lacks notes optional parts that the setup has not installed. Where a service was away, the environment serves the runs that use
// it, and the next one makes it again; once more also where the setup asked services that answered, maybe out of order.
func (m *Making) Lacks(parts []string, asked, away bool) {
	m.manifest.Lacks, m.unlocked = parts, true
	if m.manifest.Passing = away || asked && !m.again; m.manifest.Passing {
		m.Note("the next run sets up again: a service may have been away")
	}
}

// MayLink allows links into the directories of a search path for programs, beside those of the system.
func (m *Making) MayLink(search string) { m.search = filepath.SplitList(search) }

func (m *Making) begin() error {
	for _, name := range []string{treeDir, toolsDir, storesDir} {
		if err := os.MkdirAll(filepath.Join(m.Dir, name), 0o700); err != nil {
			return fmt.Errorf("make environment %s: %w", m.manifest.ID, err)
		}
	}
	return nil
}

// Take moves what lies at paths of a work tree, slash-separated and none below another, into the environment. No process may be
// working in the tree. What is neither a directory nor a file nor a link is left out.
func (m *Making) Take(tree string, paths []string) error {
	m.tops = append(m.tops, tree, sandbox.TreePath(tree))
	for _, name := range paths {
		if !fs.ValidPath(name) || name == "." || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return &BadContentError{fmt.Sprintf("the path %q has characters that no work tree can have", name)}
		}
		from := filepath.Join(tree, filepath.FromSlash(name))
		info, err := os.Lstat(from)
		if err != nil {
			return fmt.Errorf("take %s: %w", name, err)
		}
		to := filepath.Join(m.Dir, treeDir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("take %s: %w", name, err)
		}
		switch {
		case info.IsDir():
			m.manifest.Places = append(m.manifest.Places, name)
		case info.Mode().IsRegular(), info.Mode()&fs.ModeSymlink != 0:
			m.manifest.Files = append(m.manifest.Files, name)
		default:
			m.Note(fmt.Sprintf("%s was left out: it is no file", name))
			continue
		}
		if info.IsDir() && info.Mode().Perm()&0o700 != 0o700 { // else it cannot be moved
			if err := os.Chmod(from, info.Mode().Perm()|0o700); err != nil {
				return fmt.Errorf("take %s: %w", name, err)
			}
		}
		if err := os.Rename(from, to); err != nil {
			return fmt.Errorf("take %s into environment %s: %w", name, m.manifest.ID, err)
		}
	}
	slices.Sort(m.manifest.Places)
	slices.Sort(m.manifest.Files)
	return nil
}

// seal checks all that is there, lists it, and completes the environment with its manifest, once all is on the disk.
func (m *Making) seal() error {
	c := &cleaning{making: m}
	if err := c.walk(); err != nil {
		return err
	}
	for _, left := range []struct {
		what  string
		paths []string
	}{
		{"links that lead out of the tree were left out", c.links},
		{"pipes and sockets were left out", c.pipes},
		{"files lost the right to run as another user", c.marked},
	} {
		if n := len(left.paths); n > 0 {
			m.Note(fmt.Sprintf("%d %s: %s", n, left.what, strings.Join(text.Few(left.paths, maxNamed), ", ")))
		}
	}
	if err := m.copySmall(); err != nil {
		return err
	}
	m.manifest.Files = slices.DeleteFunc(m.manifest.Files, func(name string) bool {
		return !there(filepath.Join(m.Dir, treeDir, filepath.FromSlash(name)))
	})
	list, err := m.list()
	if err == nil && m.want != "" && m.manifest.Content != m.want {
		err = received("its files are not those of its manifest")
	}
	if err == nil {
		m.manifest.Digest, err = m.digest(list)
	}
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(m.Dir, contentFile), list); err != nil {
		return err
	}
	if err := syncAll(m.Dir); err != nil {
		return fmt.Errorf("write environment %s to the disk: %w", m.manifest.ID, err)
	}
	data, err := json.MarshalIndent(m.manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest of environment %s: %w", m.manifest.ID, err)
	}
	return errors.Join(replaceFile(filepath.Join(m.Dir, manifestFile), data), syncDir(m.Dir))
}

// maxNamed bounds the paths that a note names.
const maxNamed = 5

// cleaning inspects everything that a setup has left, and sets right what must not stay.
type cleaning struct {
	making               *Making
	entries              int
	bytes                int64
	links, pipes, marked []string
}

func (c *cleaning) walk() error {
	for _, part := range []string{treeDir, toolsDir, storesDir} {
		top := filepath.Join(c.making.Dir, part)
		err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if d == nil || err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
			if err != nil { // a directory that could not be listed; it was made readable when it was first seen
				return &BadContentError{fmt.Sprintf("the directory %s cannot be read", c.seen(name))}
			}
			return c.look(name, d)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// seen is a path as a person knows it.
func (c *cleaning) seen(name string) string {
	rel, err := filepath.Rel(c.making.Dir, name)
	if err != nil {
		return name
	}
	return strings.TrimPrefix(filepath.ToSlash(rel), treeDir+"/")
}

// look sets one entry right.
func (c *cleaning) look(name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return fmt.Errorf("inspect %s: %w", name, err)
	}
	if c.entries++; c.entries > maxEntries {
		return &BadContentError{fmt.Sprintf("there are more than %d files", maxEntries)}
	}
	mode := info.Mode()
	switch {
	case mode&fs.ModeSymlink != 0:
		return c.link(name)
	case mode&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		c.pipes = append(c.pipes, c.seen(name))
		return os.Remove(name)
	case !mode.IsRegular() && !mode.IsDir():
		return &BadContentError{fmt.Sprintf("%s is a device", c.seen(name))}
	}
	if c.bytes += info.Size(); c.bytes > maxBytes {
		return &BadContentError{fmt.Sprintf("it has more than %d GiB", maxBytes>>30)}
	}
	need := fs.FileMode(0o400)
	if d.IsDir() {
		need = 0o700
	}
	privileged := mode&(fs.ModeSetuid|fs.ModeSetgid) != 0
	if !privileged && mode.Perm()&need == need {
		return nil
	}
	if privileged && !d.IsDir() {
		c.marked = append(c.marked, c.seen(name))
	}
	if err := os.Chmod(name, mode.Perm()|need); err != nil {
		return &BadContentError{fmt.Sprintf("%s is another user's: %v", c.seen(name), errors.Unwrap(err))}
	}
	return nil
}

// systemDirs are seen by every command, where they are on the machine.
var systemDirs = strings.Fields(`/bin /etc /lib /lib32 /lib64 /nix /opt /sbin /snap /usr /divisi /dev /proc`)

// link leaves out a link that leads neither to the tree, the tools or the stores, nor to the system's programs. Where it leads by
// its words is enough: only commands follow it, and those see nothing else.
func (c *cleaning) link(name string) error {
	target, err := os.Readlink(name)
	if err != nil {
		return fmt.Errorf("inspect %s: %w", name, err)
	}
	if filepath.IsAbs(target) {
		allowed := slices.Concat(systemDirs, c.making.search, []string{c.making.Dir})
		if slices.ContainsFunc(allowed, func(dir string) bool { return within(filepath.Clean(target), dir) }) {
			return nil
		}
	} else {
		rel, err := filepath.Rel(c.making.Dir, filepath.Dir(name))
		part, _, _ := strings.Cut(path.Join(filepath.ToSlash(rel), filepath.ToSlash(target))+"/", "/")
		own, _, _ := strings.Cut(filepath.ToSlash(rel)+"/", "/")
		if err == nil && part == own {
			return nil
		}
	}
	c.links = append(c.links, fmt.Sprintf("%s -> %s", c.seen(name), target))
	return os.Remove(name)
}

// within reports whether a path is a directory or lies below it.
func within(name, dir string) bool {
	return dir != "" && (name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/"))
}

// syncDir has the entries of a directory written to the disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // a file system that keeps no directories to be written
	}
	return errors.Join(err, f.Close())
}
