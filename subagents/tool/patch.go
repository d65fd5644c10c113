package tool

import (
	"fmt"
	"io/fs"
	"slices"
)

// filePatch is what a patch does to one file.
type filePatch struct {
	// old and new are its paths before and after; one of them is empty for a file that is created or deleted.
	old, new string
	// mode is that of a created file.
	mode  fs.FileMode
	hunks []*hunk
	// at is the line of the patch where it begins.
	at int
}

// hunk is one place that changes.
type hunk struct {
	// number counts in its file; header is its line in the patch.
	number int
	header string
	// line is the stated first line before the change, from 1; 0 when none is stated.
	line  int
	lines []patchLine
}

// patchLine is one line of a hunk: op is ' ' for context, '-' or '+'. open says that no line end follows it.
type patchLine struct {
	op   byte
	text string
	open bool
}

func (p *filePatch) created() bool { return p.old == "" }
func (p *filePatch) deleted() bool { return p.new == "" }
func (p *filePatch) renamed() bool { return p.old != "" && p.new != "" && p.old != p.new }

func (p *filePatch) name() string {
	if p.old == "" {
		return p.new
	}
	return p.old
}

func (p *filePatch) did() string {
	switch {
	case p.created():
		return "created " + p.new
	case p.deleted():
		return "deleted " + p.old
	case p.renamed():
		return fmt.Sprintf("renamed %s to %s%s", p.old, p.new, p.count())
	}
	return "changed " + p.old + p.count()
}

func (p *filePatch) count() string {
	added, deleted := 0, 0
	for _, h := range p.hunks {
		for _, l := range h.lines {
			switch l.op {
			case '+':
				added++
			case '-':
				deleted++
			}
		}
	}
	return fmt.Sprintf(" (+%d -%d)", added, deleted)
}

// String names a hunk to whoever wrote it.
func (h *hunk) String() string {
	return fmt.Sprintf("hunk %d (%s)", h.number, short(printable(h.header), 80))
}

// before are the lines that must stand in the file, after those that will stand there.
func (h *hunk) before() []string { return h.side('+') }
func (h *hunk) after() []string  { return h.side('-') }

func (h *hunk) side(without byte) (texts []string) {
	for _, l := range h.lines {
		if l.op != without {
			texts = append(texts, bare(l.text))
		}
	}
	return texts
}

// openEnd says that the lines before the change are the end of a file whose last line has no line end.
func (h *hunk) openEnd() bool {
	for _, l := range slices.Backward(h.lines) {
		if l.op != '+' {
			return l.open
		}
	}
	return false
}

// merge puts the hunks of files that a patch changes in several pieces together. A file that it moves, makes or deletes can
// stand in it only once.
func merge(patches []*filePatch) ([]*filePatch, error) {
	seen := map[string]*filePatch{}
	var out []*filePatch
	for _, p := range patches {
		plain := !p.created() && !p.deleted() && !p.renamed()
		if first := seen[p.old]; plain && first != nil && first.old == first.new {
			for _, h := range p.hunks {
				h.number = len(first.hunks) + 1
				first.hunks = append(first.hunks, h)
			}
			continue
		}
		for _, name := range slices.Compact([]string{p.old, p.new}) {
			if name != "" && seen[name] != nil {
				return nil, fmt.Errorf("line %d: %s is in the patch twice", p.at, name)
			}
			seen[name] = p
		}
		out = append(out, p)
	}
	return out, nil
}
