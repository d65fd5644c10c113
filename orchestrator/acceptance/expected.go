package acceptance

import (
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
)

// maxPairs bounds the pairs of values that the checks compare: of more the rest is not explained.
const maxPairs = 100_000

// changed pairs values that are gone with new ones of their kind, and finds those that nothing explains.
func (p *Patch) changed(of [2][]testsource.Literal) {
	lost, gained := difference(of[0], of[1], func(l testsource.Literal) testsource.Value { return l.Value })
	come := map[string]bool{}
	for _, g := range gained {
		add(come, text.Words(g.Text))
	}
	lost = slices.DeleteFunc(lost, func(l testsource.Literal) bool {
		return p.names(l.Text) || strings.Contains(l.Text, "\n") && known(come, text.Words(l.Text), nil) // a text by its lines
	})
	var open []testsource.Literal
	for _, g := range gained {
		fits := func(l testsource.Literal) bool {
			p.pairs--
			return p.pairs > 0 && l.Kind == g.Kind && (p.explained(l.Text, g.Text) || p.reworded(l.Text, g.Text) ||
				strings.Contains(g.Text, l.Text) &&
					(pieces.MatchString(l.Beside) || pieces.MatchString(g.Beside) && len(text.Words(l.Text)) > 1))
		}
		if i := slices.IndexFunc(lost, fits); i >= 0 {
			lost = slices.Delete(lost, i, i+1)
		} else {
			open = append(open, g)
		}
	}
	for _, g := range open {
		if p.names(g.Text) {
			continue
		}
		alike := func(l testsource.Literal) bool {
			p.pairs--
			return l.Kind == g.Kind && (p.pairs < 0 || p.alike(l, g))
		}
		if i := slices.IndexFunc(lost, alike); i >= 0 {
			p.edited = append(p.edited, at(g.Path, g.Line, "a test expects %s in place of %s", g.Value, lost[i].Value))
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
func (p *Patch) alike(was, now testsource.Literal) bool {
	names := func(l testsource.Literal) []string {
		return slices.DeleteFunc(testsource.Identifiers(l.Beside), func(s string) bool {
			return common[s] || s[0] >= '0' && s[0] <= '9'
		})
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
var common = text.Set(`t s assert require expect self err got want if Equal EqualError NoError toBe toEqual to be equal
	assertEqual len return await const var it test new def fn async function`)

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
