package acceptance

import (
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

// file is a changed file with the lines that differ. Lines that move within the patch are in neither list.
type file struct {
	Change

	added, removed []line
	// size counts the lines that are added and removed, moved ones too.
	size int
	// language is its place in languages; -1 where it holds no tests.
	language int
	// data is for what tests read, prose for texts. gate is what the file is for gates; "" for nothing.
	data, prose bool
	gate        string
}

var (
	prose   = re(`(?i)\.(?:md|rst|txt|adoc)$`)
	fixture = re(`(?:^|/)(?:testdata|fixtures|__snapshots__)/`)
)

// changed reports whether lines differ that do not move.
func (f *file) changed() bool { return len(f.added)+len(f.removed) > 0 }

// first is the place of the first new line.
func (f *file) first() int {
	if len(f.added) == 0 {
		return 0
	}
	return f.added[0].number
}

// prepare finds the lines that differ, and the words that a rename explains.
func (p *Patch) prepare() {
	p.files = make([]*file, len(p.Changes))
	come, gone := map[string]int{}, map[string]int{}
	for i, c := range p.Changes {
		f := &file{Change: c, language: languageOf(c.Path), data: fixture.MatchString(c.Path), prose: prose.MatchString(c.Path)}
		p.files[i] = f
		if !text.Binary(c.Before) && !text.Binary(c.After) {
			f.compare()
		}
		count(come, f.added)
		count(gone, f.removed)
	}
	elsewhere := func(lines []line, others map[string]int) []line {
		return slices.DeleteFunc(lines, func(l line) bool { others[l.text]--; return others[l.text] >= 0 })
	}
	for _, f := range p.files {
		f.added, f.removed = elsewhere(f.added, gone), elsewhere(f.removed, come)
		f.gate = p.gateOf(f)
	}
	p.learn()
}

func count(lines map[string]int, of []line) {
	for _, l := range of {
		lines[l.text]++
	}
}

// compare finds the lines that differ. What is between the lines that both sides begin and end with counts without order.
func (f *file) compare() {
	before, after, from := trim(strings.Split(string(f.Before), "\n"), strings.Split(string(f.After), "\n"))
	f.removed, f.added = difference(numbered(before, from), numbered(after, from), func(l line) string { return l.text })
	f.size = len(f.added) + len(f.removed)
}

// numbered are the lines that are not blank.
func numbered(lines []string, from int) []line {
	out := make([]line, 0, len(lines))
	for i, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, line{from + i + 1, l})
		}
	}
	return out
}

// trim cuts off what two lists begin and end with. What is left begins in both at the same place.
func trim[T comparable](a, b []T) (left, right []T, from int) {
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	a, b = a[from:], b[from:]
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return a[:len(a)-n], b[:len(b)-n], from
}

// difference returns what only one of two lists has, or has more often, by a key.
func difference[T any, K comparable](before, after []T, key func(T) K) (lost, gained []T) {
	left := make(map[K]int, len(before))
	for _, b := range before {
		left[key(b)]++
	}
	for _, a := range after {
		if k := key(a); left[k] > 0 {
			left[k]--
		} else {
			gained = append(gained, a)
		}
	}
	for _, b := range before {
		if k := key(b); left[k] > 0 {
			left[k]--
			lost = append(lost, b)
		}
	}
	return lost, gained
}

func set(words []string) map[string]bool {
	out := map[string]bool{}
	add(out, words)
	return out
}

func add(to map[string]bool, words []string) {
	for _, w := range words {
		to[w] = true
	}
}

// learn learns the words of identifiers and paths that the patch removes everywhere or brings, and those of the task.
func (p *Patch) learn() {
	brief := words(p.Task.Brief + " " + strings.Join(p.Task.Constraints, " ") + " " + p.Record)
	p.come, p.gone = set(brief), set(brief)
	added, removed := map[string]bool{}, map[string]bool{}
	for _, f := range p.files {
		if f.Before == nil {
			add(p.come, words(f.Path))
		}
		if f.After == nil {
			add(p.gone, words(f.Path))
		}
		if f.gate != "" || f.data {
			continue
		}
		for _, l := range f.added {
			add(added, identifiers(l.text))
		}
		for _, l := range f.removed {
			add(removed, identifiers(l.text))
		}
	}
	only(added, removed, p.come)
	only(removed, added, p.gone)
}

// only adds the words of names that others do not have, without numbers: no rename explains a number or a truth.
func only(names, others, to map[string]bool) {
	for name := range names {
		if !others[name] {
			add(to, slices.DeleteFunc(words(name), func(w string) bool {
				return unicode.IsDigit(rune(w[0])) || w == "true" || w == "false"
			}))
		}
	}
}

var quoted = re("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|//.*$|^#.*$")

// identifiers are the names in a line of code, without strings and comments.
func identifiers(code string) []string {
	if strings.ContainsAny(code, "\"'`/#") {
		code = quoted.ReplaceAllString(code, " ")
	}
	return strings.FieldsFunc(code, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
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
	for i, r := range s + " " {
		k := kind(r)
		if k != last && (last != 2 || k != 3 || i-start != 1) {
			if last != 0 {
				out = append(out, strings.ToLower(s[start:i]))
			}
			start = i
		}
		last = k
	}
	return out
}

// explained reports whether a text became another by the patch's renames, or as the task's brief asks.
func (p *Patch) explained(before, after string) bool {
	b, a, _ := trim(words(before), words(after))
	return len(b)+len(a) > 0 && known(p.gone, b, a) && known(p.come, a, b)
}

// known reports whether all words are known or in the other text.
func known(set map[string]bool, words, other []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !set[w] && !slices.Contains(other, w) })
}

// renamed reports whether renames explain all that differs in a file.
func (p *Patch) renamed(f *file) bool {
	if len(f.added) != len(f.removed) {
		return false
	}
	for n := range f.added {
		if !p.explained(f.removed[n].text, f.added[n].text) {
			return false
		}
	}
	return true
}

// outright reports whether the task's files name a path itself, not by a pattern or a directory.
func (p *Patch) outright(name string) bool {
	return slices.ContainsFunc(p.Task.Files, func(f string) bool { return path.Clean(f) == name })
}
