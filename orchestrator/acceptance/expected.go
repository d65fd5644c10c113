package acceptance

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/text"
)

// maxPairs bounds the pairs of values that are looked at: of more the rest is not explained.
const maxPairs = 100_000

// changed pairs values that are gone with new ones of their kind, and finds those that nothing explains.
func (p *Patch) changed(before, after []literal) {
	lost, gained := difference(before, after, func(l literal) value { return l.value })
	lost, gained = p.measured(lost, gained)
	lost = slices.DeleteFunc(lost, func(l literal) bool { return p.names(l.text) })
	var open []literal
	for _, g := range gained {
		fits := func(l literal) bool {
			p.pairs--
			return p.pairs > 0 && l.kind == g.kind && (p.explained(l.text, g.text) || p.reworded(l.text, g.text) ||
				l.present && g.size() > 0 || strings.Contains(g.text, l.text) &&
				(pieces.MatchString(l.beside) || pieces.MatchString(g.beside) && len(text.Words(l.text)) > 1))
		}
		if i := slices.IndexFunc(lost, fits); i >= 0 {
			lost = slices.Delete(lost, i, i+1)
		} else {
			open = append(open, g)
		}
	}
	for _, g := range open {
		if p.names(g.text) {
			continue
		}
		alike := func(l literal) bool {
			p.pairs--
			return l.kind == g.kind && (p.pairs < 0 || p.alike(l, g))
		}
		if i := slices.IndexFunc(lost, alike); i >= 0 {
			p.edited = append(p.edited, at(g.path, g.line, "a test expects %s in place of %s", g.value, lost[i].value))
			lost = slices.Delete(lost, i, i+1)
		}
	}
}

// pieces are assertions of a part of a text.
var pieces = re(`Contain|toThrow|toMatch|\bmatch=|["'] in `)

// names reports whether a text is the path of a file of the patch, or its end.
func (p *Patch) names(what string) bool {
	return strings.Contains(what, "/") &&
		slices.ContainsFunc(p.Changes, func(c Change) bool { return strings.HasSuffix(c.Path, what) })
}

// alike reports whether two values may be one that was changed: what they are beside has a name in common, or no names, or other
// ones by a rename.
func (p *Patch) alike(was, now literal) bool {
	names := func(l literal) []string {
		return slices.DeleteFunc(identifiers(l.beside), func(s string) bool { return common[s] || s[0] >= '0' && s[0] <= '9' })
	}
	before, after := names(was), names(now)
	if len(before)+len(after) > maxPaired {
		return true
	}
	shares := func(name string) bool { return slices.Contains(after, name) }
	return len(before) == 0 || len(after) == 0 || slices.ContainsFunc(before, shares) ||
		known(p.gone, text.Words(strings.Join(before, " ")), nil)
}

// common are the names that all assertions have.
var common = set(`t s assert require expect self err got want if Equal EqualError NoError toBe toEqual to be equal assertEqual len
	return await const var`)

// reworded reports whether only the case and the marks of a text change, as they do in the product.
func (p *Patch) reworded(before, after string) bool {
	has := func(lines []line, what string) bool {
		return slices.ContainsFunc(lines, func(l line) bool { return strings.Contains(l.text, what) })
	}
	words := text.Words(before)
	return len(words) > 0 && slices.Equal(words, text.Words(after)) && slices.ContainsFunc(p.files, func(f *file) bool {
		return f.language < 0 && has(f.removed, before) && has(f.added, after)
	})
}

// measured finds tolerances that grow, and returns the other values.
func (p *Patch) measured(lost, gained []literal) (was, now []literal) {
	sorted := func(all []literal) (out []literal) {
		for _, l := range all {
			if l.kind == 't' {
				out = append(out, l)
			}
		}
		slices.SortFunc(out, func(a, b literal) int { return cmp.Compare(a.size(), b.size()) })
		return out
	}
	b, a := sorted(lost), sorted(gained)
	for i := range min(len(b), len(a)) {
		if a[i].size() > b[i].size() {
			p.edited = append(p.edited, at(a[i].path, a[i].line, "a test tolerates %s in place of %s", a[i].text, b[i].text))
		}
	}
	other := func(l literal) bool { return l.kind == 't' }
	return slices.DeleteFunc(lost, other), slices.DeleteFunc(gained, other)
}

// size is the number that a literal is; 0 for none.
func (l literal) size() float64 {
	n, _ := strconv.ParseFloat(l.text, 64)
	return n
}
