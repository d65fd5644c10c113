package acceptance

import (
	"slices"
	"strings"
)

// weigh compares the units of both sides: by their number, each test with itself, and what they expect.
func (p *Patch) weigh(before, after []unit) {
	fresh, retired := byName(after), p.retired()
	before = slices.DeleteFunc(before, func(u unit) bool {
		_, kept := fresh[u.key()]
		return u.test && !kept && slices.ContainsFunc(identifiers(u.text), func(name string) bool { return retired[name] })
	})
	old := byName(before)
	missing := slices.ContainsFunc(before, func(u unit) bool { _, ok := fresh[u.key()]; return u.test && !ok })
	var all sides
	files := map[string]*sides{}
	count := func(side int, u unit, c counts) {
		if files[u.path] == nil {
			files[u.path] = &sides{}
		}
		files[u.path][side].add(c)
		all[side].add(c)
	}
	for _, u := range before {
		count(0, u, u.counts)
	}
	for _, u := range after {
		c := u.counts
		if _, ok := old[u.key()]; !ok && !missing { // a new test, not one that got another name
			c[exits] = 0
			if u.test {
				c[skips], c[own], c[stubs] = 0, 0, 0
			}
		}
		if files[u.path] == nil { // a new file
			c[stubs] = 0
		}
		count(1, u, c)
	}
	needless := needless(all)
	all[1].add(told(old, fresh))
	all[1][assertions] += needless
	all[1][certain] += needless
	all[1][sized] += needless
	if all[0][once] <= all[1][once] && all[0][tests] < all[1][tests] && !all.worse(cases) && kept(old, fresh) {
		for kind := assertions; kind <= exact; kind++ { // rows became tests
			all[1][kind] = max(all[0][kind], all[1][kind])
		}
	}
	p.weaker = append(p.weaker, weaker(all, files, merged(all, before, after))...)
	p.expected(old, fresh, missing)
}

// needless is how many assertions that there is no error are gone with the errors: functions do not return them any more, or
// tests await what called back.
func needless(all sides) int {
	gone := all[0][returned] - all[1][returned]
	return max(0, min(all[0][errorless]-all[1][errorless], max(0, gone)+max(0, all[1][awaits]-all[0][awaits])))
}

// told are the assertions that are gone from tests which say the same at once now: one of a whole value has what they compared,
// or is about what they said less of.
func told(old, fresh map[string]unit) (all counts) {
	for key, b := range old {
		a := fresh[key]
		lost, gained := difference(b.says, a.says, said.key)
		about, had := map[string]bool{}, map[value]bool{}
		for _, s := range gained {
			if s.says == whole {
				add(about, identifiers(s.text))
			}
		}
		for _, l := range a.literals {
			had[l.value] = true
		}
		stays := func(s said) bool {
			return len(s.literals) > 0 && !slices.ContainsFunc(s.literals, func(l literal) bool { return !had[l.value] })
		}
		shares := func(name string) bool { return about[name] && (name == "err" || !common[name]) }
		var c counts
		for _, s := range lost {
			if len(about) == 0 || !stays(s) && (s.says == whole || !slices.ContainsFunc(identifiers(s.text), shares)) {
				continue
			}
			for kind, least := range map[int]strength{assertions: something, certain: something, sized: partly, exact: whole} {
				if s.says >= least && c[kind] < b.counts[kind]-a.counts[kind] {
					c[kind]++
				}
			}
		}
		all.add(c)
	}
	return all
}

// maxPaired bounds the names beside two values that are compared one by one.
const maxPaired = 500

// maxKept bounds the text in which values are looked up, in bytes.
const maxKept = 1 << 30

// kept reports whether the tests still have all values that they expected.
func kept(old, fresh map[string]unit) bool {
	var now strings.Builder
	for _, u := range fresh {
		now.WriteString(u.text)
	}
	left := maxKept
	for _, u := range old {
		if left -= len(u.literals) * now.Len(); left < 0 {
			return false
		}
		if slices.ContainsFunc(u.literals, func(l literal) bool {
			return l.kind != 'b' && !strings.Contains(now.String(), l.text)
		}) {
			return false
		}
	}
	return true
}

// merged reports whether tests are fewer because they were joined: no row and no assertion is gone.
func merged(all sides, before, after []unit) bool {
	if all[0][tests]-all[1][tests] != all[0][cases]-all[1][cases] ||
		slices.ContainsFunc(before, func(u unit) bool { return u.test && len(u.says) == 0 }) {
		return false
	}
	saying := func(units []unit) (all []said) {
		for _, u := range units {
			if u.test {
				all = append(all, u.says...)
			}
		}
		return all
	}
	lost, _ := difference(saying(before), saying(after), said.key)
	return len(lost) == 0
}

// definition is a line that gives something a name.
var definition = re(`\b(?:func(?:\s*\([^)]*\))?|def|class|function|const|let|var|type|interface)\s+([\w$]+)`)

// retired are the names that the patch removes from the product, because the brief names them and asks for it.
func (p *Patch) retired() map[string]bool {
	if !removal.MatchString(p.Task.Brief) {
		return nil
	}
	out, named := map[string]bool{}, map[string]bool{}
	add(named, identifiers(p.Task.Brief))
	for side := range 2 {
		for _, f := range p.files {
			for _, l := range [][]line{f.removed, f.added}[side] {
				if m := definition.FindStringSubmatch(l.text); f.language < 0 && m != nil && named[m[1]] {
					out[m[1]] = side == 0
				}
			}
		}
	}
	return out
}
