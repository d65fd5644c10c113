package acceptance

import (
	"maps"
	"slices"
	"strings"

	"divisi/orchestrator/acceptance/testsource"
)

// weigh compares tests, each with itself or with those that it became: how many there are, what they assert, and what they expect.
func (p *Patch) weigh(before, after []testsource.Unit) {
	retired := p.retired()
	old, fresh := byName(before), byName(after)
	maps.DeleteFunc(old, func(key string, u testsource.Unit) bool {
		_, kept := fresh[key]
		return u.Test && !kept && slices.ContainsFunc(testsource.Identifiers(u.Text), func(name string) bool {
			return retired[name]
		})
	})
	for key, a := range fresh {
		if b, had := old[key]; had && space.ReplaceAllString(a.Text, "") != space.ReplaceAllString(b.Text, "") {
			p.differ[a.Path] = true
		}
	}
	all, idle := tally{}, []Finding(nil)
	for _, k := range p.kins(old, fresh) {
		k.weigh(all)
		idle = append(idle, k.silent()...)
		p.changed(k.literals())
	}
	p.weaker = slices.Concat(p.weaker, all.findings(), idle)
}

// weigh notes what is worse in tests that belong together. New ones cannot be worse, but where they never run; of what is gone
// only tests count.
func (k kin) weigh(all tally) {
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
		if !c.worse(kind) || kind == testsource.Tests && len(k[1]) > 0 && !c.worse(testsource.Cases) ||
			kind <= testsource.Cases && merged || kind == testsource.Certain && c.worse(testsource.Assertions) ||
			kind == testsource.Sized && c.worse(testsource.Exact) {
			continue
		}
		all.add(k, kind, c)
	}
}

// excuse takes out of what is fewer what is needless, or said at once.
func (c *sides) excuse(k kin) {
	needless := c.needless()
	c[1].Add(told(k))
	for _, kind := range []int{testsource.Assertions, testsource.Certain, testsource.Sized} {
		c[1][kind] += needless
	}
	if c[0][testsource.Once] <= c[1][testsource.Once] && c[0][testsource.Tests] < c[1][testsource.Tests] &&
		!c.worse(testsource.Cases) && kept(k) {
		for kind := testsource.Assertions; kind <= testsource.Exact; kind++ { // rows became tests
			c[1][kind] = max(c[0][kind], c[1][kind])
		}
	}
}

// literals are the values of both sides; of tests that are gone or new there is nothing to compare.
func (k kin) literals() (before, after []testsource.Literal) {
	for _, u := range k[0] {
		before = append(before, u.Literals...)
	}
	for _, u := range k[1] {
		after = append(after, u.Literals...)
	}
	return before, after
}

var space = re(`\s+`)

// needless is how many assertions that there is no error are gone with the errors: functions do not return them any more, or
// tests await what called back.
func (c *sides) needless() int {
	gone := c[0][testsource.Returned] - c[1][testsource.Returned]
	awaits := c[1][testsource.Awaits] - c[0][testsource.Awaits]
	return max(0, min(c[0][testsource.Errorless]-c[1][testsource.Errorless], max(0, gone)+max(0, awaits)))
}

// least is how much an assertion says at least that is counted as one of a kind.
var least = map[int]testsource.Strength{
	testsource.Assertions: testsource.Something, testsource.Certain: testsource.Something,
	testsource.Sized: testsource.Partly, testsource.Exact: testsource.Whole,
}

// told are the assertions that are gone from tests which say the same at once now.
func told(k kin) (all testsource.Counts) {
	lost, gained := difference(said(k[0]), said(k[1]), testsource.Said.Key)
	for _, s := range toldIn(lost, gained) {
		for kind, says := range least {
			if s.Says >= says {
				all[kind]++
			}
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

// kept reports whether tests still have all values that they expected.
func kept(k kin) bool {
	var now strings.Builder
	for _, u := range k[1] {
		now.WriteString(u.Text)
	}
	left := maxKept
	before, _ := k.literals()
	return !slices.ContainsFunc(before, func(l testsource.Literal) bool {
		left -= now.Len()
		return left < 0 || l.Kind != 'b' && !strings.Contains(now.String(), l.Text)
	})
}

// merged reports whether tests are fewer because they were joined: no row and no assertion is gone.
func (c *sides) merged(k kin) bool {
	lost, _ := difference(said(k[0]), said(k[1]), testsource.Said.Key)
	return len(k[1]) > 0 && len(lost) == 0 &&
		c[0][testsource.Tests]-c[1][testsource.Tests] == c[0][testsource.Cases]-c[1][testsource.Cases] &&
		!slices.ContainsFunc(k[0], func(u testsource.Unit) bool { return u.Test && len(u.Says) == 0 })
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
