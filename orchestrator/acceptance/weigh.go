package acceptance

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
)

// weigh compares tests, each with itself or with those that it became: how many there are, what they assert and expect.
func (p *Patch) weigh(before, after []testsource.Unit) {
	retired := p.retired()
	old, fresh := byName(before), byName(after)
	maps.DeleteFunc(old, func(key string, u testsource.Unit) bool {
		_, kept := fresh[key]
		return u.Test && !kept && retired(u.Text)
	})
	for key, a := range fresh { // a new test weakens none
		if b, had := old[key]; had && spoken(a) != spoken(b) || !had && !a.Test {
			p.differ[a.Path] = true
		}
	}
	all, now := tally{}, slices.Collect(maps.Values(fresh))
	for _, k := range p.kins(old, fresh) {
		lost, _ := difference(valuedIn(k[0]), valuedIn(k[1]), strings.Clone)
		if len(lost) == 0 || slices.ContainsFunc(lost, func(l string) bool { return !retired(l) }) {
			k.weigh(all, now)
			p.changed(k.literals())
		}
	}
	p.weaker = append(p.weaker, all.findings()...)
}

// weigh notes what is worse in tests that belong together. New ones cannot be worse, but where they never run; of what is gone
// only tests count. now are all tests after the patch.
func (k kin) weigh(all tally, now []testsource.Unit) {
	var c sides
	tests := false
	for side, units := range k {
		for _, u := range units {
			c[side].Add(u.Counts)
			tests = tests || u.Test
		}
	}
	switch {
	case len(k[0]) == 0:
		off, skips := c[1][testsource.Off], c[1][testsource.Skips]
		if c[0] = c[1]; !tests {
			c[0][testsource.Skips] -= skips
		}
		c[0][testsource.Off] -= off
	case len(k[1]) == 0:
		c[1] = c[0]
		c[1][testsource.Tests] = 0
	default:
		c.excuse(k)
	}
	merged := c.merged(k)
	for kind := range testsource.Kinds {
		if c.worse(kind) && (kind > testsource.Cases || !merged) && !c.covered(kind) {
			all.add(k, kind, c, kind <= testsource.Cases && k.loses(now))
		}
	}
}

// covered reports whether another finding covers one: rows that replace tests, and the worst of what is asserted.
func (c *sides) covered(kind int) bool {
	switch kind {
	case testsource.Tests:
		return c[1][kind] > 0 && !c.worse(testsource.Cases)
	case testsource.Assertions:
		return c.worse(testsource.Silent)
	case testsource.Exact:
		return c.worse(testsource.Silent) || c.worse(testsource.Assertions)
	}
	return false
}

// excuse takes out of what is fewer what is said at once.
func (c *sides) excuse(k kin) {
	c[1].Add(told(k))
	if c[0][testsource.Once] <= c[1][testsource.Once] && c[0][testsource.Tests] < c[1][testsource.Tests] &&
		!c.worse(testsource.Cases) {
		for kind := testsource.Assertions; kind <= testsource.Exact; kind++ { // rows became tests
			c[1][kind] = max(c[0][kind], c[1][kind])
		}
	}
}

// literals are the values of both sides, but for names of tests.
func (k kin) literals() (of [2][]testsource.Literal) {
	for side, units := range k {
		for _, u := range units {
			of[side] = append(of[side], u.Literals...)
		}
		of[side] = slices.DeleteFunc(of[side], func(l testsource.Literal) bool {
			return slices.ContainsFunc(k[1-side], func(u testsource.Unit) bool { return u.Test && u.Name == l.Text })
		})
	}
	return of
}

// valuedIn are the lines of tests with values.
func valuedIn(units []testsource.Unit) (lines []string) {
	for _, u := range units {
		for line := range strings.Lines(u.Text) {
			if line = strings.Trim(line, " \t\r\n,"); strings.ContainsAny(line, "0123456789\"'`") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// loses reports whether what tests are about is in none of those after the patch: a number or a word of a text, or a name where
// they have none. Their titles and messages do not count.
func (k kin) loses(now []testsource.Unit) bool {
	has, _ := about(now)
	values, names := about(k[0])
	if len(values) == 0 {
		_, has = about(now)
		values = names
	}
	for v := range values {
		if !has[v] {
			return true
		}
	}
	return len(values) == 0
}

// about are the numbers and the words of texts in some tests, and their names.
func about(units []testsource.Unit) (values, names map[string]bool) {
	values, names = map[string]bool{}, map[string]bool{}
	for _, u := range units {
		for _, w := range token.FindAllString(title.ReplaceAllString(u.Text, ""), -1) {
			if valued.MatchString(w) {
				add(values, text.Words(w))
			} else {
				names[w] = true
			}
		}
		for _, l := range u.Literals {
			add(values, text.Words(l.Text))
		}
	}
	return values, names
}

// title matches lines that name a test, or tell why it fails.
var title = re(`(?m)^\s*(?:it|test|describe)(?:\.\w+)*\(.*|^\s*""".*|\b[tb]\.(?:Error|Fatal|Log|Run|Skip)f?\(.*`)

var space = re(`\s+`)

// spoken is the text of a unit without blanks, but for those that begin a line of Python; of what is no function without
// imports too.
func spoken(u testsource.Unit) string {
	own := u.Text
	if path.Ext(u.Path) == ".py" {
		own = deeper.ReplaceAllString(own, "\n>")
	}
	if u.Name == "" {
		own = imported.ReplaceAllString(own, "")
	}
	return space.ReplaceAllString(own, "")
}

// deeper begins a line of Python in a block of a test.
var deeper = re(`\n(?: {8}|\t{2})`)

var imported = re(`(?m)^\s*(?:import|from|const .*\brequire\()\b?.*$`)

// told are the assertions that are gone from tests which say the same at once now.
func told(k kin) (all testsource.Counts) {
	lost, gained := difference(said(k[0]), said(k[1]), testsource.Said.Key)
	for _, s := range toldIn(lost, gained) {
		all[testsource.Assertions]++
		if s.Whole {
			all[testsource.Exact]++
		}
	}
	return all
}

func said(units []testsource.Unit) (all []testsource.Said) {
	for _, u := range units {
		all = append(all, u.Says...)
	}
	return all
}

// toldIn are the lost assertions, where a new one of a whole value has what they compared, or is about what
// they said less of.
func toldIn(lost, gained []testsource.Said) []testsource.Said {
	about, has := map[string]bool{}, map[testsource.Value]bool{}
	for _, s := range gained {
		if s.Whole {
			add(about, testsource.Identifiers(s.Text))
			for _, l := range s.Literals {
				has[l.Value] = true
			}
		}
	}
	goes := func(l testsource.Literal) bool { return !has[l.Value] }
	shares := func(name string) bool { return about[name] && (name == "err" || !common[name]) }
	return slices.DeleteFunc(lost, func(s testsource.Said) bool {
		stays := len(s.Literals) > 0 && !slices.ContainsFunc(s.Literals, goes)
		less := !s.Whole && slices.ContainsFunc(testsource.Identifiers(s.Text), shares)
		return len(about) == 0 || !stays && !less
	})
}

// maxPaired bounds the names beside two values that are compared one by one.
const maxPaired = 500

// merged reports whether tests are fewer because they were joined: no row and no assertion is gone.
func (c *sides) merged(k kin) bool {
	lost, _ := difference(said(k[0]), said(k[1]), testsource.Said.Key)
	return len(k[1]) > 0 && len(lost) == 0 &&
		c[0][testsource.Tests]-c[1][testsource.Tests] == c[0][testsource.Cases]-c[1][testsource.Cases] &&
		!slices.ContainsFunc(k[0], func(u testsource.Unit) bool { return u.Test && len(u.Says) == 0 })
}

// retired returns whether a text has a word of the brief, which asks for a removal, that the code of the patch has no more.
func (p *Patch) retired() func(string) bool {
	words := map[string]bool{}
	has := func(name string, content func(*file) []byte) bool {
		return slices.ContainsFunc(p.files, func(f *file) bool {
			return f.language < 0 && !f.prose && bytes.Contains(content(f), []byte(name))
		})
	}
	for _, name := range testsource.Identifiers(p.Task.Brief) {
		if removal.MatchString(p.Task.Brief) && len(name) >= minRetired {
			had := has(name, func(f *file) []byte { return f.Before })
			words[name] = had && !has(name, func(f *file) []byte { return f.After })
		}
	}
	known := func(w string) bool { return words[w] }
	return func(of string) bool {
		return slices.ContainsFunc(token.FindAllString(of, -1), known) || slices.ContainsFunc(text.Words(of), known)
	}
}

// minRetired is the shortest word that names something that is removed, in bytes.
const minRetired = 4
