package spec

import (
	"sort"
	"strings"
)

// Nearest returns the candidate that a mistyped name most likely meant, by edit distance; empty when none is near.
// Case and the difference of - and _ cost nothing. Equal distances are settled by the alphabet.
func Nearest(name string, candidates []string) string {
	near := NearestAll(name, candidates, 1)
	if len(near) == 0 {
		return ""
	}
	return near[0]
}

// NearestAll returns up to most near candidates, the nearest first.
func NearestAll(name string, candidates []string, most int) []string {
	type scored struct {
		name string
		cost int
	}
	const longest = 128 // a longer name is no typing mistake, and the table below is quadratic
	if name == "" || len(name) > longest {
		return nil
	}
	var near []scored
	want := fold(name)
	for _, c := range candidates {
		have := fold(c)
		if len(have) > longest {
			continue
		}
		cost := editDistance(want, have)
		if len(want) >= 3 && (strings.HasPrefix(have, want) || strings.HasPrefix(want, have) && len(have) >= 3) {
			cost = min(cost, 2)
		}
		if cost <= 1+max(len(want), len(have))/4 && cost < max(len(want), len(have)) {
			near = append(near, scored{c, cost})
		}
	}
	sort.Slice(near, func(i, j int) bool {
		if near[i].cost != near[j].cost {
			return near[i].cost < near[j].cost
		}
		return near[i].name < near[j].name
	})
	names := make([]string, 0, most)
	for _, s := range near[:min(most, len(near))] {
		names = append(names, s.name)
	}
	return names
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// editDistance counts insertions, deletions, replacements and swaps of neighbours.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			differ := 1
			if x[i-1] == y[j-1] {
				differ = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
