// Package suppression counts what silences a checker and fixes nothing that it found: marks in comments, casts, errors that are
// dropped, files that leave its reach, settings with which it finds less. Its input is both sides of the files of a change, its
// output the kinds that grew, with the marks that are new. It never asks, and knows nothing of tasks.
package suppression

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// File is one file of a change; a side is nil where there is none.
type File struct {
	Path          string
	Before, After []byte
}

// Mark is one place that silences a checker. Text is its line as the file has it, or a setting.
type Mark struct {
	Path string
	Line int
	Text string

	wide  bool
	rules int
}

// Growth is a kind that a change has more often than before, by how many, with the marks that are new. Always is set where every
// run asks about it.
type Growth struct {
	Kind   string
	Count  int
	Marks  []Mark
	Always bool
}

func (g *Growth) add(path, text string) {
	g.Count++
	g.Marks = append(g.Marks, Mark{Path: path, Text: text})
}

// maxFile bounds both sides of a file together, in bytes.
const maxFile = 1 << 20

// Grown counts by kind over the whole change: a mark that moves is not new. More of one kind are not made up for by less of
// another one.
func Grown(files []File) []Growth {
	files = slices.DeleteFunc(slices.Clone(files), func(f File) bool {
		return len(f.Before)+len(f.After) > maxFile || bytes.Equal(f.Before, f.After) && (f.Before == nil) == (f.After == nil)
	})
	kinds := map[*kind]*[2][]Mark{}
	for _, f := range files {
		for side, content := range [][]byte{f.Before, f.After} {
			if s := read(f.Path, content); s != nil {
				s.marks(func(k *kind, m Mark) {
					if kinds[k] == nil {
						kinds[k] = &[2][]Mark{}
					}
					kinds[k][side] = append(kinds[k][side], m)
				})
			}
		}
	}
	out := append(gone(files), eased(files))
	for k, marks := range kinds {
		out = append(out, k.grown(marks))
	}
	out = slices.DeleteFunc(out, func(g Growth) bool { return g.Count == 0 })
	slices.SortFunc(out, func(a, b Growth) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Kind, b.Kind)) })
	return out
}

// grown compares the marks of a kind on both sides. A mark that becomes narrower is not new.
func (k *kind) grown(sides *[2][]Mark) Growth {
	var rules, marks [2]int // what there is more, by width
	had := map[string]int{}
	for side, all := range sides {
		for _, m := range all {
			width, sign := 0, 2*side-1
			if m.wide {
				width = 1
			}
			rules[width] += sign * m.rules
			marks[width] += sign
			had[m.Text] -= sign
		}
	}
	if marks[1] < 0 && marks[0] <= -marks[1] {
		rules[0] = 0
	}
	g := Growth{Kind: k.name, Count: max(0, rules[0]) + max(0, rules[1]), Always: k.always}
	for _, m := range sides[1] {
		if had[m.Text]++; had[m.Text] <= 0 {
			g.Marks = append(g.Marks, m)
		}
	}
	return g
}

// marks visits the marks of a file.
func (s *source) marks(visit func(*kind, Mark)) {
	var ends []int
	for at := range len(s.all) {
		if s.all[at] == '\n' {
			ends = append(ends, at)
		}
	}
	ends = append(ends, len(s.all))
	mark := func(k *kind, at, end int, wide bool) {
		n, _ := slices.BinarySearch(ends, at)
		line := s.all[strings.LastIndexByte(s.all[:at], '\n')+1 : ends[n]]
		visit(k, Mark{s.name, n + 1, strings.TrimSpace(line), wide, k.rules(s.all[end:max(end, ends[n])])})
	}
	for _, c := range s.comments {
		for from, first := c[0], true; from < c[1]; first = false {
			line, _, _ := strings.Cut(s.all[from:c[1]]+"\n", "\n")
			for part := range strings.SplitAfterSeq(line, "#") {
				words := strings.TrimLeft(part, "/*#!<;- \t{")
				at := from + len(part) - len(words)
				if from += len(part); words != "" && (first || words[0] == '@') {
					s.directive(words, at, mark)
				}
			}
			from++
		}
	}
	code := string(s.code)
	for i := range inCode {
		k := &inCode[i]
		if !hasExtension(k.extensions, s.name) {
			continue
		}
		for _, m := range k.FindAllStringSubmatchIndex(code, -1) {
			found := s.all[m[0]:m[1]]
			at := m[0] + len(found) - len(strings.TrimLeft(found, " \t\n;"))
			if is := s.kindAt(k, at, m[1]); is != nil {
				mark(is, at, m[1], len(m) > 2 && m[2] >= 0)
			}
		}
	}
}

// directive visits the mark that the words of a comment begin with.
func (s *source) directive(words string, at int, visit func(k *kind, at, end int, wide bool)) {
	for i := range inComments {
		k := &inComments[i]
		if m := k.FindStringSubmatchIndex(words); m != nil && (k.extensions == "" || hasExtension(k.extensions, s.name)) {
			visit(k, at, at+m[1], len(m) > 2 && m[2] >= 0)
			return
		}
	}
}

// lists are the kinds whose marks list rules, listed is such a list.
const lists = "eslint-disable # noqa # type: ignore pylint: disable //nolint NOLINT rubocop:disable shellcheck disable " +
	"#[allow] @SuppressWarnings"

var listed = re(`^[\s:=(\[{"']*[\w@/.-]+["']?(?:\s*,\s*["']?[\w@/.:-]+["']?)*`)

// rules is the number of rules that a mark lists before a text, at least one.
func (k *kind) rules(behind string) int {
	if !strings.Contains(lists, k.name) {
		return 1
	}
	line, _, _ := strings.Cut(behind, "--")
	return 1 + strings.Count(listed.FindString(line), ",")
}

var (
	ofTyping = re(`(?m)^from typing(?:_extensions)? import (?:[^\n(]*|\([^)]*)\bcast\b`)
	// ends are code in a line that ends with a mark, words such before it.
	ends  = re(`[=(:.]|\breturn\b`)
	words = re(`\b(?:return|typeof|case|void|delete|await|else|in|of|throw|new)!$`)
)

// kindAt is the kind of what an expression found; nil where it looks like one and is none.
func (s *source) kindAt(k *kind, from, end int) *kind {
	found := s.all[from:end]
	begin := strings.LastIndexByte(s.all[:from], '\n') + 1
	switch k.name {
	case "cast()":
		if found == "cast(" && (s.all[max(0, from-1)] == '.' || !ofTyping.MatchString(s.all)) {
			return nil
		}
	case "an empty catch":
		if found != string(s.code[from:end]) {
			return &commented
		}
	case "filterwarnings":
		if !strings.Contains(found, "ignore") {
			return nil
		}
	case "_ =":
		if strings.HasPrefix(s.all[end-1:], "iota") {
			return nil
		}
	case "x!":
		if strings.TrimSpace(found[2:]) == "" && !ends.Match(s.code[begin:from]) || words.Match(s.code[begin:from+2]) {
			return nil
		}
	}
	return k
}
