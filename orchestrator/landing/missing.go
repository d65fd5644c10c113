package landing

import (
	"slices"

	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
)

// land lets a batch land whose gates have passed, unless tests of the base commit did not run in them, which no patch removes or
// renames. The gates run on the base commit once more before a patch is asked about that.
func land(s *run.State, d run.LandingData) []run.Action {
	in := factsOf(s)
	missing := acceptance.Missing(d.Receipts)
	switch {
	case len(missing) == 0:
		return move(s, d)
	case in.works.RunsAgain():
		return nil
	}
	a := acceptance.Inspect{Receipts: missing, Allowed: map[string][]string{}}
	for _, id := range run.Names(d.Tasks) {
		t := in.tasks.ByID[id]
		for _, k := range t.Patches() {
			a.Spans = append(a.Spans, acceptance.Span{Task: id, From: k.Patch.Base, To: k.Patch.Commit, Accepted: t.Cleared()})
		}
		for _, doubt := range t.Without() {
			for gate, tests := range doubt.Missing {
				a.Allowed[gate] = append(a.Allowed[gate], tests)
			}
		}
	}
	a.Then = func(found acceptance.Inspection) []run.Action {
		if len(found.Doubts) == 0 {
			d.Gone = found.Gone
			return move(s, d)
		}
		if again := acceptance.OnBaseAgain(s); again != nil {
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
			actions = append(actions, acceptance.HoldMissing(in.tasks.ByID[id], doubt))
		}
	}
	return slices.Clip(actions)
}
