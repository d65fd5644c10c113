package landing

import (
	"slices"

	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// land lets a batch land whose gates have passed, unless tests of the base commit did not run in them, which no patch removes or
// renames. The gates run on the base commit once more before a patch is asked about that. A batch that takes patches out brings
// back the tests that these had ended.
func land(s *run.State, d run.LandingData) []run.Action {
	in := factsOf(s)
	missing := proof.Missing(d.Receipts)
	back := len(in.batches.Gone) > 0 && slices.ContainsFunc(run.Names(d.Tasks), func(id string) bool {
		return len(in.tasks.ByID[id].Drops) > 0
	})
	switch {
	case back:
		missing = d.Receipts
	case len(missing) == 0:
		return landRead(s, d)
	}
	if in.works.RunsAgain() {
		return nil
	}
	a := proof.Inspect{Receipts: missing, Back: back, Allowed: map[string][]string{}}
	for _, id := range run.Names(d.Tasks) {
		t := in.tasks.ByID[id]
		for _, k := range t.Patches() {
			a.Spans = append(a.Spans, proof.Span{Task: id, From: k.Patch.Base, To: k.Patch.Commit, Accepted: t.Cleared()})
		}
		for _, doubt := range t.Without() {
			for gate, tests := range doubt.Missing {
				a.Allowed[gate] = append(a.Allowed[gate], tests)
			}
		}
	}
	a.Then = func(found proof.Inspection) []run.Action {
		if len(found.Doubts) == 0 {
			d.Gone = found.Gone
			return landRead(s, d)
		}
		if again := proof.OnBaseAgain(s); again != nil {
			return again
		}
		return question(in, d, found.Doubts)
	}
	return []run.Action{a}
}

// question puts the tasks of a batch back into the queue, and holds those that are asked about.
func question(in facts, d run.LandingData, doubts map[string]run.Doubt) []run.Action {
	actions := append(dropAbove(in.works, in.batches, d.Head), drop(d))
	for _, id := range run.Names(d.Tasks) {
		if doubt, asked := doubts[id]; asked {
			actions = append(actions, run.HoldPatch(in.tasks.ByID[id], doubt))
		}
	}
	return slices.Clip(actions)
}
