package request

import (
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Gate adds a gate to a run that has not ended: it runs on the base commit, then on all that lands. Patches that are held for
// files that no gate reads are tested with it. The error is a *RefusedError.
func Gate(agenda *run.Agenda, proofs *run.Proofs, g spec.Gate, by string) ([]run.Action, string, error) {
	switch {
	case Over(agenda) != nil:
		return nil, "", Over(agenda)
	case len(proofs.Baseline) == 0:
		return nil, "", Refusedf("the gates of run %s have not run on the base commit: wait until they have, or add the gate "+
			"to .divisi/divisi.yaml and begin another run", agenda.Spec.Run)
	case agenda.Status == run.Final:
		return nil, "", Refusedf("run %s is at its final gates: nothing else lands", agenda.Spec.Run)
	case slices.Contains(agenda.Spec.GateNames(), g.Name):
		return nil, "", Refusedf("run %s has a gate %s: take another name", agenda.Spec.Run, g.Name)
	}
	if !MayAddGates(&agenda.Spec) {
		return nil, "", Refusedf("the gates of run %s have the network, as its tester has: write the gate into "+
			".divisi/divisi.yaml, trust that, and start another run", agenda.Spec.Run)
	}
	p := spec.Project{Gates: []spec.Gate{g}}
	if faults := p.Validate(); len(faults) > 0 {
		return nil, "", Refusedf("%s", faults[0].Message)
	}
	actions := []run.Action{AddGate(g, by)}
	if tasks := agenda.Tasks.HeldUnread(); len(tasks) > 0 {
		actions = append(actions, run.SetRun(run.Data{Decision: &run.Decided{
			Kind: run.DecideUnread, With: idsOf(tasks), Closed: true, Answer: run.Answer{
				ID: UnreadID(tasks), Option: run.AddGate, By: by,
			},
		}}))
	}
	return actions, "gate " + g.Name + " is run on the base commit, and on all that lands from now on", nil
}

// MayAddGates reports whether gates may be added to a run: not where they would have the network, which trust shows before.
func MayAddGates(order *run.Spec) bool { return !order.Roles[spec.RoleTester].Network }

func idsOf(tasks []*run.Task) (ids []string) {
	for _, t := range tasks {
		ids = append(ids, t.Task.ID)
	}
	return ids
}

// UnreadID is the id of the decision about the unread files of tasks that are held: it is another one for other tasks.
func UnreadID(held []*run.Task) string {
	pos := uint64(0)
	for _, t := range held {
		pos = max(pos, t.Doubt().Pos)
	}
	return run.DecisionID(fmt.Sprintf("unread-%d", len(held)), pos)
}

// AddGate puts a gate into the log.
func AddGate(g spec.Gate, by string) run.Action {
	return run.SetRun(run.Data{Gate: &run.AddedGate{Gate: g, By: by}, Notices: []string{text.OneLine(fmt.Sprintf(
		"%s added the gate %s: %s", by, g.Name, text.CommandLine(g.Command)))}})
}
