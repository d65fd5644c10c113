package view

import (
	"cmp"
	"slices"
	"strings"
)

// maxWays bounds the ways that a person is shown at once.
const maxWays = 3

// All is the command that lists all ways on from a run.
func All(run string) string { return way("", "show", run).Command }

// Shortlist returns the most useful of some ways, as Next lists them: the first one, how the run continues, and how what landed
// is used. The whole report, which has them all, gives way to the others.
func Shortlist(ways []Way) []Way {
	if len(ways) <= maxWays {
		return ways
	}
	again := 0 // the last one is about all parked tasks
	for i, w := range ways {
		if strings.HasPrefix(w.Command, program+" retry ") || strings.HasPrefix(w.Command, program+" resume ") {
			again = i
		}
	}
	rank := func(i int) int {
		switch command := ways[i].Command; {
		case i == 0:
			return 0
		case i == again:
			return 1
		case strings.HasPrefix(command, "git ") && strings.Contains(command, " merge "):
			return 2
		case strings.HasPrefix(command, program+" show "):
			return 4
		}
		return 3
	}
	at := make([]int, len(ways))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	out := make([]Way, maxWays)
	for i := range out {
		out[i] = ways[at[i]]
		out[i].Why, _, _ = strings.Cut(out[i].Why, unlisted)
	}
	return out
}
