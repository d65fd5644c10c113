package acceptance

import (
	"slices"
	"strings"

	"divisi/orchestrator/acceptance/testsource"
)

// weigh compares the units of both sides: by their number, each test with itself, and what they expect.
func (p *Patch) weigh(before, after []testsource.Unit) {
	fresh, retired := byName(after), p.retired()
	before = slices.DeleteFunc(before, func(u testsource.Unit) bool {
		_, kept := fresh[u.Key()]
		return u.Test && !kept && slices.ContainsFunc(testsource.Identifiers(u.Text), func(name string) bool {
			return retired[name]
		})
	})
	old := byName(before)
	for key, a := range fresh {
		if b, had := old[key]; had && space.ReplaceAllString(a.Text, "") != space.ReplaceAllString(b.Text, "") {
			p.differ[a.Path] = true
		}
	}
	missing := slices.ContainsFunc(before, func(u testsource.Unit) bool { _, ok := fresh[u.Key()]; return u.Test && !ok })
	var all sides
	files := map[string]*sides{}
	count := func(side int, u testsource.Unit, c testsource.Counts) {
		if files[u.Path] == nil {
			files[u.Path] = &sides{}
		}
		files[u.Path][side].Add(c)
		all[side].Add(c)
	}
	for _, u := range before {
		count(0, u, u.Counts)
	}
	for _, u := range after {
		c := u.Counts
		if _, ok := old[u.Key()]; !ok && !missing { // a new test, not one that got another name
			c[testsource.Exits] = 0
			if u.Test {
				c[testsource.Skips], c[testsource.Own], c[testsource.Stubs] = 0, 0, 0
			}
		}
		if files[u.Path] == nil { // a new file
			c[testsource.Stubs] = 0
		}
		count(1, u, c)
	}
	needless := needless(all)
	all[1].Add(told(old, fresh))
	all[1][testsource.Assertions] += needless
	all[1][testsource.Certain] += needless
	all[1][testsource.Sized] += needless
	if all[0][testsource.Once] <= all[1][testsource.Once] && all[0][testsource.Tests] < all[1][testsource.Tests] &&
		!all.worse(testsource.Cases) && kept(old, fresh) {
		for kind := testsource.Assertions; kind <= testsource.Exact; kind++ { // rows became tests
			all[1][kind] = max(all[0][kind], all[1][kind])
		}
	}
	p.weaker = append(p.weaker, weaker(all, files, merged(all, before, after))...)
	p.expected(old, fresh, missing)
}

var space = re(`\s+`)

// needless is how many assertions that there is no error are gone with the errors: functions do not return them any more, or
// tests await what called back.
func needless(all sides) int {
	gone := all[0][testsource.Returned] - all[1][testsource.Returned]
	awaits := all[1][testsource.Awaits] - all[0][testsource.Awaits]
	return max(0, min(all[0][testsource.Errorless]-all[1][testsource.Errorless], max(0, gone)+max(0, awaits)))
}

// least is how much an assertion says at least that is counted as one of a kind.
var least = map[int]testsource.Strength{
	testsource.Assertions: testsource.Something, testsource.Certain: testsource.Something,
	testsource.Sized: testsource.Partly, testsource.Exact: testsource.Whole,
}

// told are the assertions that are gone from tests which say the same at once now.
func told(old, fresh map[string]testsource.Unit) (all testsource.Counts) {
	for key, b := range old {
		a, c := fresh[key], testsource.Counts{}
		for _, s := range toldIn(b, a) {
			for kind, says := range least {
				if s.Says >= says && c[kind] < b.Counts[kind]-a.Counts[kind] {
					c[kind]++
				}
			}
		}
		all.Add(c)
	}
	return all
}

// toldIn are the assertions of a test that are gone, where a new one of a whole value has what they compared, or is about what
// they said less of.
func toldIn(b, a testsource.Unit) []testsource.Said {
	lost, gained := difference(b.Says, a.Says, testsource.Said.Key)
	about, has := map[string]bool{}, map[testsource.Value]bool{}
	for _, s := range gained {
		if s.Says == testsource.Whole {
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
		less := s.Says < testsource.Whole && slices.ContainsFunc(testsource.Identifiers(s.Text), shares)
		return len(about) == 0 || !stays && !less
	})
}

// maxPaired bounds the names beside two values that are compared one by one.
const maxPaired = 500

// maxKept bounds the text that is searched for values, in bytes.
const maxKept = 1 << 30

// kept reports whether the tests still have all values that they expected.
func kept(old, fresh map[string]testsource.Unit) bool {
	var now strings.Builder
	for _, u := range fresh {
		now.WriteString(u.Text)
	}
	left := maxKept
	for _, u := range old {
		if left -= len(u.Literals) * now.Len(); left < 0 {
			return false
		}
		if slices.ContainsFunc(u.Literals, func(l testsource.Literal) bool {
			return l.Kind != 'b' && !strings.Contains(now.String(), l.Text)
		}) {
			return false
		}
	}
	return true
}

// merged reports whether tests are fewer because they were joined: no row and no assertion is gone.
func merged(all sides, before, after []testsource.Unit) bool {
	if all[0][testsource.Tests]-all[1][testsource.Tests] != all[0][testsource.Cases]-all[1][testsource.Cases] ||
		slices.ContainsFunc(before, func(u testsource.Unit) bool { return u.Test && len(u.Says) == 0 }) {
		return false
	}
	saying := func(units []testsource.Unit) (all []testsource.Said) {
		for _, u := range units {
			if u.Test {
				all = append(all, u.Says...)
			}
		}
		return all
	}
	lost, _ := difference(saying(before), saying(after), testsource.Said.Key)
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
	add(named, testsource.Identifiers(p.Task.Brief))
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
