package run

import (
	"maps"
	"slices"

	"divisi/internal/spec"
)

// Closing is the state of a gate in full on the tree of a commit, where the end of a run depends on it. A worker elsewhere can
// sign what it did not find: it has to pass on two of them, as long as another one is there that may run it.
type Closing struct {
	// Good are the receipts that close it, first the one that counts; Red makes it red. Neither is set while it is to run.
	Good []spec.Receipt
	Red  *spec.Receipt
	// Passed are the workers on which it passed. Failed reports that it is red in a run which none of its worker takes back,
	// Second that it passed, and not only on workers that have proven the batch before while another one is there.
	Passed         []string
	Failed, Second bool
	// Not are the workers that leave its next run to others, InFirst is as in Dispatch.
	Not     []string
	InFirst bool
}

// maxRuns is how often a gate that fails runs on a tree: once more, to tell a failure from a flake.
const maxRuns = 2

// Close reports what is known of a gate in full on the tree of a commit of the branch.
func (s *Branch) Close(head, tree, gate string) Closing {
	one := []string{gate}
	good, failed := s.Proofs.good(tree, gate, ""), s.Proofs.Failed(tree, one, "")
	c := Closing{Passed: workersOf(good)}
	var reds []spec.Receipt
	alone, provers := s.Crew == nil, []string(nil)
	if !alone {
		alone, provers = !s.May(c.Passed, false), s.Batches.ProversOf(head)
		reds = s.contradict(tree, gate, good)
	}
	slices.SortStableFunc(good, func(a, b spec.Receipt) int { return s.rank(a, provers) - s.rank(b, provers) })
	decided := len(good) > 0 && len(failed) == 0 && s.Decides(good[0])
	c.Failed = len(failed)+len(reds) > 0
	c.Second = decided && (!s.May(provers, false) || slices.ContainsFunc(c.Passed, func(w string) bool {
		return !slices.Contains(provers, w)
	}))
	if c.InFirst = true; s.Crew != nil {
		c.Not = s.leave(c.Passed, workersOf(reds), provers)
		c.InFirst = !decided || s.Serves(s.Proofs.Reference(), c.Not...)
	}
	switch {
	case len(failed) > 0 && s.Proofs.Runs(tree, one, "") >= maxRuns:
		c.Red = &failed[0].Receipt
	case len(reds) >= maxRuns, len(reds) > 0 && alone && decided && newer(reds, good):
		c.Red = &reds[len(reds)-1]
	case decided && (alone || len(c.Passed) > 1 || s.trusted(head)):
		c.Good = good
	}
	return c
}

// rank orders receipts: those of the baseline's environment first, of these the ones of workers that did not prove the batch.
func (s *Branch) rank(r spec.Receipt, provers []string) (n int) {
	if r.Environment != s.Proofs.Reference() {
		n = 2
	}
	if slices.Contains(provers, r.Worker) {
		n++
	}
	return n
}

// leave chooses which workers leave a run to others: all that have told of it, or those at least that passed it.
func (s *Branch) leave(passed, red, provers []string) []string {
	all := slices.Concat(passed, red, provers)
	slices.Sort(all)
	all = slices.Compact(all)
	for _, not := range [][]string{all, slices.Concat(passed, red), passed} {
		if s.May(not, false) && len(not) > 0 {
			return not
		}
	}
	return all
}

// contradict lists the failures of a gate in full on a tree, of workers on which it has not passed there, oldest first.
func (s *Branch) contradict(tree, gate string, good []spec.Receipt) (reds []spec.Receipt) {
	for _, f := range s.Proofs.Failures[tree] {
		if f.Receipt.Gate != gate || f.Receipt.Since != "" || !s.Proofs.comparable(f.Receipt) {
			continue
		}
		reds = append(reds, slices.DeleteFunc(slices.Clone(f.All), func(r spec.Receipt) bool {
			return s.Quarantines[r.Worker] != nil || slices.ContainsFunc(good, func(g spec.Receipt) bool {
				return g.Worker == r.Worker && g.Environment == r.Environment
			})
		})...)
	}
	return reds
}

// newer reports whether a gate was red after it had passed.
func newer(reds, good []spec.Receipt) bool {
	byPos := func(a, b spec.Receipt) int { return int(a.Pos) - int(b.Pos) }
	return slices.MaxFunc(reds, byPos).Pos > slices.MaxFunc(good, byPos).Pos
}

// trusted reports whether a person has decided for the proof of a batch, against that of another worker.
func (s *Branch) trusted(head string) bool {
	l := s.Batches.at(head)
	return l != nil && l.Second != nil && l.Second.State == SecondTrusted
}

// OneWorker is the worker elsewhere whose word alone stands for a gate of the end; "" where another one has passed each.
func (s *State) OneWorker() string {
	if s.Crew == nil || s.Head == s.Spec.Base || !s.proven() {
		return ""
	}
	for _, r := range s.Final {
		if by := workersOf(s.Proofs.good(r.Tree, r.Gate, "")); len(by) == 1 {
			return by[0]
		}
	}
	return ""
}

// workersOf are the workers that signed some receipts, by name.
func workersOf(receipts []spec.Receipt) (names []string) {
	for _, r := range receipts {
		names = append(names, r.Worker)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ToldOfBase are the receipts of a gate on the base commit of other workers than that of its baseline, in its environment.
func (s *State) ToldOfBase(base spec.Receipt) (told []spec.Receipt) {
	for _, id := range []string{FlakesTask, AgainTask} {
		if s.Works[id] == nil {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(s.Works[id].Attempts)) {
			if a := s.Works[id].Attempts[n]; a.Result != nil {
				told = append(told, a.Result.Receipts...)
			}
		}
	}
	return slices.DeleteFunc(told, func(r spec.Receipt) bool {
		return r.Gate != base.Gate || r.Environment != base.Environment || r.Tree != base.Tree || r.Worker == base.Worker ||
			s.Quarantines[r.Worker] != nil
	})
}
