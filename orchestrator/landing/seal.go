package landing

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// seal ends a passage whose gates are green: all that landed in it becomes one merge commit of the integration branch, with the
// tree that its last batch was proven on.
func seal(in facts) []run.Action {
	p, green := in.batches.Passage, in.state.Head
	d := run.LandingData{Batch: in.batches.Count + 1, State: run.LandingSealed, Old: green, Through: p.Gates}
	for _, l := range p.Landed {
		d.Tasks = append(d.Tasks, l.Tasks...)
	}
	m := Merge{Head: green, Onto: green, Sealed: p.Head, Message: messageOf(in.spec.Run, p)}
	m.Then = func(c Chain) []run.Action {
		d.Head, d.Tree = c.Head, c.Tree
		return []run.Action{run.Append{Data: d}, run.SyncHead{}}
	}
	return []run.Action{m}
}

// messageOf is the message of the merge commit of a passage.
func messageOf(id string, p *run.Passage) string {
	var tasks []string
	for _, l := range p.Landed {
		tasks = append(tasks, run.Names(l.Tasks)...)
	}
	return fmt.Sprintf("Passage through %s (%s)\n\nDivisi-Run: %s\nDivisi-Passage: %s\n", strings.Join(p.Gates, ", "),
		text.Count(len(tasks), "task"), id, strings.Join(p.Gates, " "))
}

// parkOutside parks what waits for the end of a passage that no task is left to end: patches are kept. Where no result on its
// newest commit counts any more its gates run there first.
func parkOutside(in facts) (actions []run.Action) {
	if !in.state.Stuck() {
		return nil
	}
	p, gates := in.batches.Passage, in.state.Unknown()
	if tries := len(in.works.HeadRuns(p.Head, p.Since)); len(gates) > 0 && tries < recovery.MaxGateTries {
		return in.works.AssignGates(run.Dispatch{Task: run.HeadTask, Head: p.Head, Gates: gates})
	}
	for t := range in.tasks.Open() {
		if slices.Contains(parkable, t.State) {
			why := "the passage through " + strings.Join(p.Gates, ", ") + " has not ended, and no task of it is left"
			actions = append(actions, recovery.Park(in.spec, t, why, nil)...)
		}
	}
	return actions
}
