package phase

import (
	"cmp"
	"fmt"

	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// tryGate has the gates run on the base commit again, with one that was added to the run: its program is a part of their
// environment. One that proves nothing there is no gate of the run.
func tryGate(s *run.State, g *run.AddedGate) []run.Action {
	if g == nil {
		return nil
	}
	w := s.Works[g.Work()]
	if w == nil {
		return assignBase(&s.Spec, s.Works, g.Work())
	}
	r := s.Works.Settled(g.Work())
	switch {
	case r == nil:
		return nil
	case w.Newest().Pos < s.Spec.GatesChanged(): // another gate was added or dropped since
		return assignBase(&s.Spec, s.Works, g.Work())
	case len(r.Receipts) >= len(s.Spec.Project.Gates):
		return adoptGate(&s.Spec, &s.Proofs, g, r.Receipts)
	case run.FaultOf(r).Class == wire.FaultSetup || w.Last >= recovery.MaxGateTries:
		return dropGate(g, run.FaultOf(r).Message)
	}
	return assignBase(&s.Spec, s.Works, g.Work())
}

// adoptGate compares with what the gates find on the base commit with an added one, unless they prove less than before.
func adoptGate(order *run.Spec, proofs *run.Proofs, g *run.AddedGate, receipts []spec.Receipt) []run.Action {
	d := run.Data{Notices: []string{fmt.Sprintf("the gates ran on the base commit again, with the added gate %s", g.Name)}}
	for _, found := range receipts {
		before, known := proofs.Baseline[found.Gate]
		proves := !known || gate.Incomparable(before) == "" && !gate.Empty(before)
		if lost := gate.Incomparable(found) != "" || gate.Empty(found); lost && proves {
			if other := order.AddedGate(found.Gate); other != nil && !known {
				g = other
			}
			return dropGate(g, fmt.Sprintf("%s %s: %s", found.Gate, cmp.Or(gate.Incomparable(found), "ran no test"),
				gate.Reason(found, nil)))
		}
		d.Baseline = append(d.Baseline, found.Bare())
	}
	return []run.Action{run.SetRun(d)}
}

// dropGate takes an added gate out of the run again.
func dropGate(g *run.AddedGate, why string) []run.Action {
	dropped := *g
	dropped.Dropped = why
	return []run.Action{run.SetRun(run.Data{Gate: &dropped, Notices: []string{fmt.Sprintf(
		"the gate %s proves nothing, and is no gate of the run any more: on the base commit: %s", g.Name, why)}})}
}
