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
