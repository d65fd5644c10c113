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

// tryGate has a gate run on the base commit that was added to the run. One that proves nothing there is no gate of the run.
func tryGate(s *run.State, g *run.AddedGate) []run.Action {
	if g == nil {
		return nil
	}
	w := s.Works[g.Work()]
	d := run.Dispatch{Task: g.Work(), Attempt: 1, Role: spec.RoleTester, Head: s.Spec.Base, Gates: []string{g.Name}}
	if w == nil {
		return []run.Action{run.AssignGates(d)}
	}
	r := s.Works.Settled(g.Work())
	if r == nil {
		return nil
	}
	why := run.FaultOf(r).Message
	for _, found := range r.Receipts {
		switch {
		case found.Gate != g.Name:
		case found.Environment != s.Proofs.Reference():
			why = "it ran in another environment than the other gates"
		case gate.Incomparable(found) != "" || gate.Empty(found):
			return dropGate(g, cmp.Or(gate.Incomparable(found), "no test ran")+": "+gate.Reason(found, nil))
		default:
			return []run.Action{run.SetRun(run.Data{
				Baseline: []spec.Receipt{found.Bare()},
				Notices:  []string{fmt.Sprintf("the gate %s ran on the base commit: %s", g.Name, found.Verdict)},
			})}
		}
	}
	if run.FaultOf(r).Class == wire.FaultSetup || w.Last >= recovery.MaxGateTries {
		return dropGate(g, why)
	}
	d.Attempt = w.Last + 1
	return []run.Action{run.AssignGates(d)}
}

// dropGate takes an added gate out of the run again.
func dropGate(g *run.AddedGate, why string) []run.Action {
	dropped := *g
	dropped.Dropped = why
	return []run.Action{run.SetRun(run.Data{Gate: &dropped, Notices: []string{fmt.Sprintf(
		"the gate %s proves nothing, and is no gate of the run any more: on the base commit %s", g.Name, why)}})}
}
