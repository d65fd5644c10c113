package landing

import (
	"slices"

	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// mendsOf are the red gates that a batch with a task mends: its own, or those of its change set.
func mendsOf(in facts, t *run.Task) (gates []string) {
	members := []*run.Task{t}
	if set := in.tasks.Set(t); set != nil {
		members = set.Members
	}
	for _, m := range members {
		gates = append(gates, m.Task.Mends...)
	}
	slices.Sort(gates)
	return slices.Compact(gates)
}

// waitsToMend reports whether the next batch waits: one that mends, and one after it, are compared with what lands before.
func waitsToMend(in facts, t *run.Task) bool {
	mends := func(b *run.Batch) bool { return len(b.Mends) > 0 }
	return len(in.batches.Testing) > 0 && len(mendsOf(in, t)) > 0 || slices.ContainsFunc(in.batches.Testing, mends)
}

// landSaying lets a batch land whose gates let it through, once its commits say what they do not prove.
func landSaying(s *run.State, d run.LandingData) []run.Action {
	in := factsOf(s)
	d.Better = proof.Better(in.proofs, d.Receipts)
	silent := func(l run.Landed) bool { return l.Better != d.Better }
	switch {
	case !saysRed(d):
		return sayRed(in, d)
	case !slices.ContainsFunc(d.Tasks, silent):
		return land(s, d)
	}
	d.Receipts, d.Tasks = nil, slices.Clone(d.Tasks)
	for i := range d.Tasks {
		d.Tasks[i].Better = d.Better
	}
	return append(dropAbove(in.works, in.batches, d.Head), drop(d))
}
