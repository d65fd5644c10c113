package mutant

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// namePart is a part of a name, such as Name in fullName.
var namePart = lazyregexp.New(`[A-Z]*[a-z]{2,}|[A-Z]{3,}`)

// partsOf are the parts of the names in a text, each once.
func partsOf(text string) (parts []string) {
	parts = strings.Fields(strings.ToLower(strings.Join(namePart.FindAllString(text, -1), " ")))
	slices.Sort(parts)
	return slices.Compact(parts)
}

// likeliest orders mutants by how much a test names what they change, the rarest names first: what a test only passes through
// comes last.
func likeliest(test string, mutants []Mutant) []Mutant {
	named, count, of := map[string]bool{}, map[string]int{}, map[int][]string{}
	for _, part := range partsOf(test) {
		named[part] = true
	}
	for _, m := range mutants {
		of[m.Number] = partsOf(m.Func + " " + m.Old)
		for _, part := range of[m.Number] {
			count[part]++
		}
	}
	score := map[int]float64{}
	for _, m := range mutants {
		for _, part := range of[m.Number] {
			if named[part] {
				score[m.Number] += math.Log(1 + float64(len(mutants))/float64(count[part]))
			}
		}
	}
	mutants = slices.Clone(mutants)
	slices.SortStableFunc(mutants, func(a, b Mutant) int { return cmp.Compare(score[b.Number], score[a.Number]) })
	return mutants
}

// some takes half of what is ranked from its head, and the rest from all that follows.
func some[T any](ranked []T, most int) []T {
	head := min(len(ranked), most/2)
	return slices.Concat(ranked[:head], spread(ranked[head:], most-head))
}

// likeliest are the pairs that the touched tests may tell apart, those first that they name.
func (t *Touched) likeliest(pairs []Pair, most int) (list []Pair) {
	var mutants []Mutant
	of := map[int]Pair{}
	for _, p := range pairs {
		mutants, of[p.After.Number] = append(mutants, p.After), p
	}
	var b strings.Builder
	for _, name := range t.Tests() {
		b.WriteString(t.was[name] + t.now[name])
	}
	for _, m := range some(likeliest(b.String(), mutants), most) {
		list = append(list, of[m.Number])
	}
	return list
}
