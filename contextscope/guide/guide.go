// Package guide finds the instruction files of a repository, such as AGENTS.md, and resolves their imports. Its input is a
// function that reads a path, its output the texts, bounded, with notes on what was left out. It never opens a file itself,
// and its output is data, never an instruction to Divisi.
package guide

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"divisi/contextscope"
	"divisi/internal/text"
)

// names are the files that are looked for, in order: of several in one directory the first counts.
var names = []string{"AGENTS.md", "GEMINI.md", "CLAUDE.md"}

const (
	// maxFile bounds what is taken of one file, maxAll what is taken of all, in bytes.
	maxFile = 16 << 10
	maxAll  = 32 << 10
	// maxDepth bounds imports within imports; maxImports how many are followed in all.
	maxDepth   = 5
	maxImports = 50
	maxNotes   = 20
	// maxLevels bounds the directories from the root down to one that is asked for.
	maxLevels = 40
)

// Find returns the instruction files for work in the directories: those of the root, then of each directory on the way, the
// nearest last. Notes report what was left out and why. read returns a file of the repository by its slash-separated path; a path
// that is no file is fs.ErrNotExist. The same repository gives the same answer.
func Find(read func(path string) ([]byte, error), dirs []string) (guides []contextscope.Guide, notes []string) {
	f := &finder{read: read, seen: map[string]bool{}}
	for _, dir := range downTo(dirs) {
		for _, name := range names {
			file := path.Join(dir, name)
			if f.seen[file] { // an import of a wider file has brought it
				break
			}
			text, ok := f.open(file, false)
			if !ok {
				continue
			}
			if text = strings.TrimSpace(f.expand(file, text, 0)); text != "" {
				guides = append(guides, contextscope.Guide{Path: file, Text: text})
			}
			break
		}
	}
	return f.bounded(guides), f.notes
}

// downTo lists the root and every directory between it and the given ones, parents before what lies in them. One that lies
// deeper than any sensible one is passed over.
func downTo(dirs []string) []string {
	all := []string{"."}
	for _, dir := range dirs {
		if strings.Count(dir, "/") >= maxLevels {
			continue
		}
		for dir = path.Clean(dir); fs.ValidPath(dir) && dir != "."; dir = path.Dir(dir) {
			all = append(all, dir)
		}
	}
	slices.SortFunc(all[1:], func(a, b string) int {
		return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	})
	return slices.Compact(all)
}

// Dir returns the directory that all entries of a write set lie in; "." for an empty one.
func Dir(files []string) string {
	var common []string
	for i, file := range files {
		parts := strings.Split(fixedPart(file), "/")
		if i == 0 {
			common = parts
			continue
		}
		n := 0
		for n < min(len(common), len(parts)) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	return path.Join(append([]string{"."}, common...)...)
}

// fixedPart is the directory of an entry of a write set: what stands before its first wildcard. A path without an extension
// may be a directory.
func fixedPart(entry string) string {
	if i := strings.IndexAny(entry, "*?[{\\"); i >= 0 {
		return path.Dir(entry[:i] + "x")
	}
	if path.Ext(entry) != "" {
		return path.Dir(entry)
	}
	return entry
}

// finder is one search. Its notes are in the order in which things were found.
type finder struct {
	read    func(path string) ([]byte, error)
	seen    map[string]bool
	imports int
	notes   []string
}

// notef adds a note; of too many the last says so.
func (f *finder) notef(format string, args ...any) {
	switch {
	case len(f.notes) < maxNotes:
		f.notes = append(f.notes, fmt.Sprintf(format, args...))
	case len(f.notes) == maxNotes:
		f.notes = append(f.notes, "and more of the same kind")
	}
}

// open reads a file that was not taken before. A link to another file, which git stores as a file with the other's path, is
// followed. wanted means that a person named the file, so that its absence is worth a note.
func (f *finder) open(file string, wanted bool) (string, bool) {
	for range maxDepth {
		if f.seen[file] {
			return "", false
		}
		data, err := f.read(file)
		if errors.Is(err, fs.ErrNotExist) && !wanted {
			return "", false
		}
		f.seen[file] = true
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.notef("%s is referred to and is not there", file)
			return "", false
		case err != nil:
			f.notef("%s could not be read: %v", file, err)
			return "", false
		case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
			f.notef("%s is no text", file)
			return "", false
		}
		text := string(data)
		to, isLink := f.link(file, text)
		if !isLink {
			return f.cut(file, text, maxFile), true
		}
		file, wanted = to, true
	}
	f.notef("%s: too many links, one after the other", file)
	return "", false
}

// link returns where a link leads. Content without a line's end that is the path of an instruction file or of Markdown is taken
// for one: its author means the same.
func (f *finder) link(file, text string) (string, bool) {
	if text == "" || strings.ContainsAny(text, " \t\r\n@") || path.Ext(text) != ".md" || path.IsAbs(text) {
		return "", false
	}
	to := path.Join(path.Dir(file), text)
	return to, fs.ValidPath(to)
}

// cut shortens a text at the end of a line.
func (f *finder) cut(file, whole string, most int) string {
	if len(whole) <= most {
		return whole
	}
	kept := text.HeadLines(whole, most)
	f.notef("%s was cut: %d of %d bytes were taken", file, len(kept), len(whole))
	return kept
}

// bounded cuts what is too much of all together. The nearest are served first: they say more about the task.
func (f *finder) bounded(guides []contextscope.Guide) []contextscope.Guide {
	left := maxAll
	for i := range slices.Backward(guides) {
		guides[i].Text = f.cut(guides[i].Path, guides[i].Text, left)
		left -= len(guides[i].Text)
	}
	return slices.DeleteFunc(guides, func(g contextscope.Guide) bool { return g.Text == "" })
}
