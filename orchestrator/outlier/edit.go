package outlier

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
	"divisi/internal/textfile"
	"divisi/orchestrator/acceptance/testsource"
)

// The most that is compared: bytes of a file, lines that differ in it, tokens of a part of it, and edits of a shard.
const (
	maxFile   = 1 << 20
	maxLines  = 600
	maxTokens = 300
	maxPart   = 20_000
	maxEdits  = 2000
)

// Change is one file that a shard changes. Before or After is nil where there is no such file.
type Change struct {
	Path          string
	Before, After []byte
}

// Edit is one place where some tokens became others.
type Edit struct {
	File string
	// Line is the place after the change, from 1.
	Line int
	// Was and Is are the lines that it is in.
	Was, Is string

	removed, added []token
	// moved are words of it that are at another place of the same lines before or after.
	moved map[string]bool
	// covered reports that it is in one line before, which the template's rule matches.
	covered bool
}

// apart matches files whose edits are no program: prose, and what a tool writes.
var apart = lazyregexp.New(`(?i)\.(?:md|rst|txt|adoc|lock|sum|snap|svg|map|csv)$|(?:^|/)(?:testdata|fixtures|__snapshots__|` +
	`vendor|node_modules)/|(?:^|/)(?:package-lock|npm-shrinkwrap)\.json$`)

// Edits finds the edits of a shard, but for imports, comments, formatting, and lines that move. Tests and prose are left out:
// what a shard does to assertions is compared elsewhere. match is what the template's rule matches; nil for everything.
func Edits(changes []Change, match *regexp.Regexp) (out []Edit) {
	var groups []group
	for _, c := range changes {
		if c.counts() {
			groups = append(groups, groupsOf(c)...)
		}
	}
	still(groups)
	for _, g := range groups {
		if out = append(out, g.edits(match)...); len(out) > maxEdits {
			return out[:maxEdits]
		}
	}
	return out
}

// counts reports whether a file is compared: a program, before and after, unless it is a binary. Rust has tests and product in
// one file.
func (c *Change) counts() bool {
	isTest := testsource.IsTest(c.Path) && path.Ext(c.Path) != ".rs"
	fits := func(data []byte) bool { return len(data) > 0 && len(data) <= maxFile }
	return !isTest && !apart.MatchString(c.Path) && fits(c.Before) && fits(c.After)
}

// group is some lines of a file that became others. after is the place that they have.
type group struct {
	file    string
	was, is []line
	after   int
}

// groupsOf compares a file as an editor shows it: a byte order mark is no part of its first line. A binary has no groups.
func groupsOf(c Change) (out []group) {
	before, isText := textfile.Read(c.Before)
	after, staysText := textfile.Read(c.After)
	if !isText || !staysText {
		return nil
	}
	was, is := linesOf(c.Path, before.Text), linesOf(c.Path, after.Text)
	for _, s := range diff(keysOf(was), keysOf(is), maxLines) {
		g := group{file: c.Path, was: was[s.a0:s.a1], is: is[s.b0:s.b1], after: 1}
		switch {
		case len(g.is) > 0:
			g.after = g.is[0].number
		case s.b0 > 0:
			g.after = is[s.b0-1].number
		}
		out = append(out, g)
	}
	return out
}

func keysOf(lines []line) []string {
	keys := make([]string, len(lines))
	for i, l := range lines {
		keys[i] = l.key
	}
	return keys
}

// leastMoved is how many tokens a line has that can be told from others where it moves.
const leastMoved = 4

// still takes out the lines that move.
func still(groups []group) {
	was, is := map[string]int{}, map[string]int{}
	for _, g := range groups {
		count(was, g.was)
		count(is, g.is)
	}
	for i, g := range groups {
		groups[i].was, groups[i].is = without(g.was, is), without(g.is, was)
	}
}

func count(keys map[string]int, lines []line) {
	for _, l := range lines {
		keys[l.key]++
	}
}

// without leaves out lines that are also on the other side, each as often as there.
func without(lines []line, other map[string]int) []line {
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool {
		if len(l.tokens) < leastMoved || other[l.key] == 0 {
			return false
		}
		other[l.key]--
		return true
	})
}

// edits compares the tokens of a group.
func (g *group) edits(match *regexp.Regexp) (out []Edit) {
	was, is := tokensIn(g.was), tokensIn(g.is)
	if len(was)+len(is) > maxPart || same(was, is) {
		return nil
	}
	for _, s := range diff(textsOf(was), textsOf(is), maxTokens) {
		for _, s := range s.pairs() {
			e := Edit{File: g.file, removed: own(was[s.a0:s.a1]), added: own(is[s.b0:s.b1])}
			old, now := linesAt(g.was, was, s.a0, s.a1), linesAt(g.is, is, s.b0, s.b1)
			e.Was, e.Is = shown(old), shown(now)
			switch {
			case s.b0 == s.b1 && whole(was, s.a0, s.a1):
				e.Is = ""
			case s.a0 == s.a1 && whole(is, s.b0, s.b1):
				e.Was = ""
			}
			if e.Line = g.after; len(is) > 0 {
				e.Line = is[min(s.b0, len(is)-1)].line
			}
			e.covered = len(old) == 1 && (match == nil || match.MatchString(old[0]))
			out = append(out, e)
		}
	}
	markMoved(out)
	return out
}

// whole reports whether some tokens are all that are in their lines.
func whole(all []token, from, to int) bool {
	return from < to && (from == 0 || all[from-1].line != all[from].line) && (to == len(all) || all[to].line != all[to-1].line)
}

// markMoved notes the words that one edit of some takes away and another one adds.
func markMoved(edits []Edit) {
	gone, come := map[string]bool{}, map[string]bool{}
	for _, e := range edits {
		addWords(gone, e.removed)
		addWords(come, e.added)
	}
	maps.DeleteFunc(gone, func(w string, _ bool) bool { return !come[w] })
	for i := range edits {
		edits[i].moved = gone
	}
}

func addWords(to map[string]bool, tokens []token) {
	for _, t := range tokens {
		if t.class != symbol {
			to[t.text] = true
		}
	}
}

// linesAt are the texts of the lines that some tokens are in; where there is no token, those of the ones before and after it.
func linesAt(all []line, tokens []token, from, to int) (out []string) {
	if len(tokens) == 0 {
		return nil
	}
	first, last := tokens[min(from, len(tokens)-1)].line, tokens[max(min(to, len(tokens))-1, min(from, len(tokens)-1))].line
	for _, l := range all {
		if l.number >= first && l.number <= last {
			out = append(out, l.text)
		}
	}
	return out
}

func tokensIn(lines []line) (out []token) {
	for _, l := range lines {
		out = append(out, l.tokens...)
	}
	return out
}

func textsOf(tokens []token) []string {
	out := make([]string, len(tokens))
	for i, t := range tokens {
		out[i] = t.text
	}
	return out
}

// own are tokens with a text of their own.
func own(tokens []token) []token {
	out := slices.Clone(tokens)
	for i := range out {
		out[i].text = strings.Clone(out[i].text)
	}
	return out
}

// maxShown bounds the lines of an edit, in bytes.
const maxShown = 400

// shown are lines as one text of their own: the file that they are of is not kept.
func shown(lines []string) string {
	return strings.Clone(text.Short(strings.Join(lines, " "), maxShown))
}
