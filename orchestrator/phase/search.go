package phase

import "divisi/orchestrator/run"

// firstRed searches the landed batches for the first one whose head fails the gates in full, by what is known of their trees:
// next is the one to test, and of its Closing, or first is the number of the batch that was found. The last one is red, and the
// base commit is not.
func firstRed(branch *run.Branch, gates []string) (next *run.Landing, of run.Closing, first int) {
	if len(branch.Batches.Landed) == 0 {
		return nil, of, 0
	}
	open := map[int]run.Closing{}
	at, found := halve(len(branch.Batches.Landed), func(i int) verdict {
		known := green
		if branch.Batches.Landed[i].Pos <= mendedAt(&branch.Proofs, gates) {
			return known
		}
		for _, gate := range gates {
			switch c := branch.Close(branch.Batches.Landed[i].Head, branch.Batches.Landed[i].Tree, gate); {
			case c.Failed:
				return red
			case !c.Second:
				known, open[i] = unknown, c
			}
		}
		return known
	})
	if !found {
		return &branch.Batches.Landed[at], open[at], 0
	}
	return nil, of, branch.Batches.Landed[at].Batch
}

// mendedAt is where in the log the newest batch landed that one of some gates is compared with; 0 for none.
func mendedAt(proofs *run.Proofs, gates []string) (at uint64) {
	for _, gate := range gates {
		for _, r := range proofs.Mended[gate] {
			at = max(at, r.Pos)
		}
	}
	return at
}

// verdict is the knowledge about a commit.
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
