package acceptance

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode"

	"divisi/internal/text"
)

// line is a line of a file, without the white space around it.
type line struct {
	number int
	text   string
}

// edit is what a patch does to the lines of one file. Lines that move within the patch are in neither list.
type edit struct {
	added, removed []line
	// size counts the lines that are added and removed, moved ones too.
	size int
}

// prepare finds the lines that differ, and the words that a rename explains.
func (p *Patch) prepare() {
	p.edits = make([]edit, len(p.Changes))
	come, gone := map[string]int{}, map[string]int{}
	for i, c := range p.Changes {
		if text.Binary(c.Before) || text.Binary(c.After) {
			continue
		}
		p.edits[i] = editOf(c)
		count(come, p.edits[i].added)
		count(gone, p.edits[i].removed)
	}
	elsewhere := func(lines []line, others map[string]int) []line {
		return slices.DeleteFunc(lines, func(l line) bool { others[l.text]--; return others[l.text] >= 0 })
	}
	p.come, p.gone = map[string]bool{}, map[string]bool{}
	for i, c := range p.Changes {
		e := &p.edits[i]
		e.added, e.removed = elsewhere(e.added, gone), elsewhere(e.removed, come)
		if c.Before == nil {
			learn(p.come, words(c.Path))
		}
		if c.After == nil {
			learn(p.gone, words(c.Path))
		}
	}
	p.learnNames()
	brief := words(p.Task.Brief + " " + strings.Join(p.Task.Constraints, " ") + " " + p.Record)
	learn(p.come, brief)
	learn(p.gone, brief)
}

func count(lines map[string]int, of []line) {
	for _, l := range of {
		lines[l.text]++
	}
}

func learn(known map[string]bool, words []string) {
	for _, w := range words {
		known[w] = true
	}
}

// learnNames learns the words of identifiers that the patch removes everywhere or brings.
func (p *Patch) learnNames() {
	added, removed := map[string]bool{}, map[string]bool{}
	for i, e := range p.edits {
		if name := p.Changes[i].Path; guarded.MatchString(name) || mixed.MatchString(name) || golden.MatchString(name) {
			continue
		}
		for _, l := range e.added {
			learn(added, identifiers(l.text))
		}
		for _, l := range e.removed {
			learn(removed, identifiers(l.text))
		}
	}
	for name := range added {
		if !removed[name] {
			learn(p.come, letters(name))
		}
	}
	for name := range removed {
		if !added[name] {
			learn(p.gone, letters(name))
		}
	}
}

// letters are the words of a name without its numbers: no rename explains a number or a truth.
func letters(name string) []string {
	return slices.DeleteFunc(words(name), func(w string) bool {
		return unicode.IsDigit(rune(w[0])) || w == "true" || w == "false"
	})
}

// editOf compares two contents by their lines. What is between the lines that both begin and end with counts without order.
func editOf(c Change) (e edit) {
	before, after, first := middle(c.Before, c.After)
	left := map[string]int{}
	removed := linesOf(before, first)
	count(left, removed)
	for _, l := range linesOf(after, first) {
		if left[l.text]--; left[l.text] < 0 {
			e.added = append(e.added, l)
		}
	}
	for _, l := range removed {
		if left[l.text] > 0 {
			left[l.text]--
			e.removed = append(e.removed, l)
		}
	}
	e.size = len(e.added) + len(e.removed)
	return e
}

// middle cuts the lines off that both contents begin and end with. The number is that of the first line that is left.
func middle(a, b []byte) (left, right []byte, first int) {
	n := shared(len(a), len(b), func(i int) bool { return a[i] == b[i] })
	n = bytes.LastIndexByte(a[:n], '\n') + 1
	first = bytes.Count(a[:n], []byte{'\n'}) + 1
	a, b = a[n:], b[n:]
	n = shared(len(a), len(b), func(i int) bool { return a[len(a)-1-i] == b[len(b)-1-i] })
	if at := bytes.IndexByte(a[len(a)-n:], '\n'); at >= 0 {
		n -= at + 1
	} else {
		n = 0
	}
	return a[:len(a)-n], b[:len(b)-n], first
}

// shared is how many places two contents have in common.
func shared(a, b int, same func(int) bool) int {
	for i := range min(a, b) {
		if !same(i) {
			return i
		}
	}
	return min(a, b)
}

func linesOf(content []byte, first int) (out []line) {
	for l := range strings.Lines(string(content)) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, line{first, l})
		}
		first++
	}
	return out
}

var quoted = re("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|//.*$|^#.*$")

// identifiers are the names in a line of code, without strings and comments.
func identifiers(code string) []string {
	return strings.FieldsFunc(quoted.ReplaceAllString(code, " "), func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// words splits a text into lower-case words and numbers: LoadRecord2 has three.
func words(s string) (out []string) {
	kind := func(r rune) int {
		switch {
		case unicode.IsDigit(r):
			return 1
		case unicode.IsUpper(r):
			return 2
		case unicode.IsLetter(r):
			return 3
		}
		return 0
	}
	start, last := 0, 0
	for i, r := range s {
		k := kind(r)
		if k != last && (last != 2 || k != 3 || i-start != 1) {
			if last != 0 {
				out = append(out, strings.ToLower(s[start:i]))
			}
			start = i
		}
		last = k
	}
	if last != 0 {
		out = append(out, strings.ToLower(s[start:]))
	}
	return out
}

// explained reports whether a text became another by the patch's renames, or as the task's brief asks.
func (p *Patch) explained(before, after string) bool {
	b, a := words(before), words(after)
	n := shared(len(b), len(a), func(i int) bool { return b[i] == a[i] })
	b, a = b[n:], a[n:]
	n = shared(len(b), len(a), func(i int) bool { return b[len(b)-1-i] == a[len(a)-1-i] })
	b, a = b[:len(b)-n], a[:len(a)-n]
	return len(b)+len(a) > 0 && known(p.gone, b, a) && known(p.come, a, b)
}

// known reports whether all words are known or in the other text.
func known(set map[string]bool, words, other []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !set[w] && !slices.Contains(other, w) })
}

// renamed reports whether renames explain all that differs in a file.
func (p *Patch) renamed(i int) bool {
	e := p.edits[i]
	if len(e.added) != len(e.removed) {
		return false
	}
	for n := range e.added {
		if !p.explained(e.removed[n].text, e.added[n].text) {
			return false
		}
	}
	return true
}

// outright reports whether the task's files name a path itself, not by a pattern or a directory.
func (p *Patch) outright(name string) bool {
	return slices.ContainsFunc(p.Task.Files, func(f string) bool { return path.Clean(f) == name })
}
