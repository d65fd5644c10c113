package phase

import (
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// firstRed searches the landed batches for the first one whose head fails the gates in full, by what is known of their trees:
// next is the one to test, or first is the number of the batch that was found. The last one is red, and the base commit is not.
func firstRed(s *run.State, gates []string) (next *run.Landing, first int) {
	if len(s.Batches.Landed) == 0 {
		return nil, 0
	}
	undecided := func(r spec.Receipt) bool { return !s.Decides(r) }
	at, found := halve(len(s.Batches.Landed), func(i int) verdict {
		switch tree := s.Batches.Landed[i].Tree; {
		case len(s.Proofs.Failed(tree, gates, "")) > 0:
			return red
		case s.Proofs.IsProven(tree, gates, "") && !slices.ContainsFunc(s.Proofs.Receipts(tree, gates, ""), undecided):
			return green
		}
		return unknown
	})
	if !found {
		return &s.Batches.Landed[at], 0
	}
	return nil, s.Batches.Landed[at].Batch
}

// verdict is what is known of a commit.
type verdict int

const (
	unknown verdict = iota
	green
	red
)

// halve returns the place, among n commits in a row, of the one to test next, or of the first red one when it is found: it is
// red, and the one before it green. The last is red, whatever is known of it, and the one before all of them green.
func halve(n int, known func(int) verdict) (at int, found bool) {
	last := n - 1
	for i := range n {
		if known(i) == red {
			last = i
			break
		}
	}
	before := last - 1
	for before >= 0 && known(before) != green {
		before--
	}
	return before + (last-before+1)/2, last-before == 1
}
