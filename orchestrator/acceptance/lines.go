package acceptance

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
)

// line is a line of a file, without the white space around it.
type line struct {
	of     *file
	number int
	text   string
}

// file is a changed file with the lines that differ. Lines that move within the patch are in neither list.
type file struct {
	Change

	added, removed []line
	// gained and lost are those that differ in this file, also where they move within the patch.
	gained, lost []line
	// first is the place of the first new line.
	first int
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

// prepare finds the lines that differ, and the words that a rename explains.
func (p *Patch) prepare() {
	p.files = make([]*file, len(p.Changes))
	var before, after []line
	for i, c := range p.Changes {
		f := &file{
			Change: c, language: testsource.LanguageOf(c.Path),
			data: fixture.MatchString(c.Path), prose: prose.MatchString(c.Path),
		}
		p.files[i] = f
		if !text.Binary(c.Before) && !text.Binary(c.After) {
			f.lost, f.gained = f.compare()
			before, after = append(before, f.lost...), append(after, f.gained...)
		}
	}
	before, after = difference(before, after, content)
	for _, l := range before {
		l.of.removed = append(l.of.removed, l)
	}
	for _, l := range after {
		l.of.added = append(l.of.added, l)
	}
	runners := p.runners()
	for _, f := range p.files {
		if f.gate = p.gateOf(f, runners); len(f.gained) > 0 {
			f.first = f.gained[0].number
		}
	}
	p.learn()
}

func content(l line) string { return l.text }

// compare finds the lines that differ. What is between the lines that both sides begin and end with counts without order.
func (f *file) compare() (lost, gained []line) {
	before, after, from := trim(strings.Split(string(f.Before), "\n"), strings.Split(string(f.After), "\n"))
	lost, gained = difference(f.lines(before, from), f.lines(after, from), content)
	f.size = len(lost) + len(gained)
	return lost, gained
}

// lines are the lines that are not blank, from a place on.
func (f *file) lines(texts []string, from int) []line {
	out := make([]line, 0, len(texts))
	for i, l := range texts {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, line{f, from + i + 1, l})
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

func add(to map[string]bool, words []string) {
	for _, w := range words {
		to[w] = true
	}
}

// learn learns the words of identifiers and paths that the patch removes everywhere or brings, and those of the task.
func (p *Patch) learn() {
	brief := strings.Join(text.Words(p.Task.Brief+" "+strings.Join(p.Task.Constraints, " ")+" "+p.Record), " ")
	p.come, p.gone = text.Set(brief), text.Set(brief)
	added, removed := map[string]bool{}, map[string]bool{}
	for _, f := range p.files {
		if f.Before == nil {
			add(p.come, text.Words(f.Path))
		}
		if f.After == nil {
			add(p.gone, text.Words(f.Path))
		}
		if f.gate != "" || f.data {
			continue
		}
		for _, l := range f.added {
			add(added, testsource.Identifiers(l.text))
		}
		for _, l := range f.removed {
			add(removed, testsource.Identifiers(l.text))
		}
	}
	only(added, removed, p.come)
	only(removed, added, p.gone)
}

// only adds the words of names that others do not have, without numbers: no rename explains a number or a truth.
func only(names, others, to map[string]bool) {
	for name := range names {
		if !others[name] {
			add(to, slices.DeleteFunc(text.Words(name), func(w string) bool {
				return unicode.IsDigit(rune(w[0])) || w == "true" || w == "false"
			}))
		}
	}
}

// explained reports whether a text became another by the patch's renames, or as the task's brief asks.
func (p *Patch) explained(before, after string) bool {
	b, a, _ := trim(text.Words(before), text.Words(after))
	return len(b)+len(a) > 0 && known(p.gone, b, a) && known(p.come, a, b)
}

// known reports whether all words are known or in the other text.
func known(set map[string]bool, words, other []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !set[w] && !slices.Contains(other, w) })
}

// renamed reports whether renames explain all that differs in a file. Words that only come or go rename nothing.
func (p *Patch) renamed(f *file) bool {
	return slices.EqualFunc(f.lost, f.gained, func(was, now line) bool {
		gone, come, _ := trim(text.Words(was.text), text.Words(now.text))
		return len(gone) > 0 && len(come) > 0 && p.explained(was.text, now.text)
	})
}

// outright reports whether the task's files have a path itself, not by a pattern or a directory. That of a shard is one that a
// rule found.
func (p *Patch) outright(name string) bool { return has(p.Task.Files, name) }

// named reports whether a person or the master wrote a path itself into the task's files.
func (p *Patch) named(name string) bool { return has(p.Named, name) }

func has(files []string, name string) bool {
	return slices.ContainsFunc(files, func(f string) bool { return path.Clean(f) == name })
}

func re(expression string) *lazyregexp.Regexp { return lazyregexp.New(expression) }
