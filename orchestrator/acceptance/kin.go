package acceptance

import (
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/orchestrator/acceptance/testsource"
)

// kin are tests before and after that are compared together: one with itself, or with what it became. A helper is kin of itself.
type kin [2][]testsource.Unit

// relative is a test or a helper on one side, with the lines and words that it lacks on the other.
type relative struct {
	testsource.Unit

	lines []string
	words map[string]bool
	// twin is itself on the other side, head one of its kin; nil for itself.
	twin, head *relative
}

func (r *relative) first() *relative {
	for r.head != nil {
		r = r.head
	}
	return r
}

func join(a, b *relative) {
	if a, b = a.first(), b.first(); a != b {
		b.head = a
	}
}

// kins finds what belongs together: what has one name, or another one by a rename, and tests that share what they lack on their
// own other sides.
func (p *Patch) kins(before, after map[string]testsource.Unit) (all []kin) {
	sides := [2][]*relative{relatives(before), relatives(after)}
	often := map[string]int{} // how many tests before have a word
	for _, r := range sides[0] {
		for w := range wordsOf(r.lines) {
			often[w]++
		}
	}
	p.pair(sides)
	for _, side := range sides {
		for _, r := range side {
			r.words = wordsOf(r.lines)
			maps.DeleteFunc(r.words, func(w string, _ bool) bool { return often[w] > max(2, len(sides[0])/2) })
		}
	}
	for _, b := range sides[0] {
		for _, a := range sides[1] {
			if b.Test && a.Test && b.twin != a && (p.spent() || b.became(a, often)) {
				join(b, a)
			}
		}
	}
	at := map[*relative]int{}
	for side, of := range sides {
		for _, r := range of {
			i, known := at[r.first()]
			if !known {
				i, all = len(all), append(all, kin{})
				at[r.first()] = i
			}
			all[i][side] = append(all[i][side], r.Unit)
		}
	}
	return all
}

func relatives(units map[string]testsource.Unit) (out []*relative) {
	for _, key := range slices.Sorted(maps.Keys(units)) {
		r := &relative{Unit: units[key]}
		for line := range strings.Lines(r.Text) {
			if line = strings.TrimSpace(line); line != "" {
				r.lines = append(r.lines, line)
			}
		}
		out = append(out, r)
	}
	return out
}

var token = re("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|[\\pL_$][\\pL\\pN_$]*|\\d[\\d._]*")

// wordsOf are the names and values in lines that not all tests have.
func wordsOf(lines []string) map[string]bool {
	words := map[string]bool{}
	for _, line := range lines {
		for _, w := range token.FindAllString(line, -1) {
			words[strings.Map(quotes, w)] = true
		}
	}
	maps.DeleteFunc(words, func(w string, _ bool) bool { return common[w] })
	return words
}

// quotes makes all quotes alike.
func quotes(r rune) rune {
	if r == '\'' || r == '`' {
		return '"'
	}
	return r
}

// spent reports whether no more pairs are compared: all are taken for related then.
func (p *Patch) spent() bool {
	p.pairs--
	return p.pairs < 0
}

// pair finds the twins: by their names, elsewhere too, by their text, or by a rename.
func (p *Patch) pair(sides [2][]*relative) {
	alone := func(side int) []*relative {
		return slices.DeleteFunc(slices.Clone(sides[side]), func(r *relative) bool { return r.twin != nil })
	}
	twins := func(b, a *relative) {
		b.twin, a.twin = a, b
		b.lines, a.lines = difference(b.lines, a.lines, strings.Clone)
		join(b, a)
	}
	for _, key := range []func(*relative) string{
		func(r *relative) string { return r.Key() },
		func(r *relative) string { return path.Dir(r.Path) + "\x00" + r.Name },
		func(r *relative) string { return r.Name },
		func(r *relative) string { return strings.Join(r.lines[min(1, len(r.lines)):], "\n") },
	} {
		by := map[string]*relative{}
		for _, a := range alone(1) {
			by[key(a)] = a
		}
		for _, b := range alone(0) {
			if a := by[key(b)]; key(b) != "" && a != nil && a.twin == nil && a.Test == b.Test {
				twins(b, a)
			}
		}
	}
	for _, b := range alone(0) {
		for _, a := range alone(1) {
			if b.twin == nil && a.Test == b.Test && !p.spent() && p.explained(b.Name, a.Name) {
				twins(b, a)
			}
		}
	}
}

// valued begins a text or a number.
var valued = re("^[\\d\"'`]")

// became reports whether a test, or a part of it, is in another one: a value that no other test had, or most of the words.
// Of one that has its name still these are those that are lost, or gained.
func (r *relative) became(a *relative, often map[string]int) bool {
	shared := 0
	for w := range r.words {
		switch {
		case !a.words[w]:
		case often[w] == 1 && len(w) > 1 && valued.MatchString(w):
			return true
		default:
			shared++
		}
	}
	least, share := min(len(r.words), len(a.words)), 0.5
	switch {
	case shared < 2 || r.twin != nil && a.twin != nil:
		return false
	case r.twin != nil:
		least, share = len(a.words), 0.6
	case a.twin != nil:
		least, share = len(r.words), 0.6
	}
	return float64(shared) >= share*float64(least)
}
