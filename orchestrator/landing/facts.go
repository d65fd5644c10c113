package landing

import (
	"cmp"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// facts are what a rule of landing knows of a run, gathered once, when it begins, and handed on. The parts are those of the state
// and no copies: what is proposed once something was merged or read finds them as they are then.
type facts struct {
	tasks       *run.Tasks
	works       run.Works
	proofs      *run.Proofs
	templates   *run.Templates
	batches     *run.Batches
	spec        *run.Spec
	crew        run.Crew
	agenda      *run.Agenda
	agents      *run.Agents
	head        string
	epoch       int
	isBaselined bool
	// state is for what other packages decide of all of it.
	state *run.State
}

func factsOf(s *run.State) facts {
	return facts{
		tasks: &s.Tasks, works: s.Works, proofs: &s.Proofs, templates: &s.Templates, batches: &s.Batches, spec: &s.Spec,
		crew: s.Crew, agenda: &s.Agenda, agents: &s.Agents, head: s.Tip(), epoch: s.Epoch, isBaselined: s.Baselined(), state: s,
	}
}

// tasksOf are the tasks of a batch.
func tasksOf(in facts, d run.LandingData) []*run.Task {
	list := make([]*run.Task, len(d.Tasks))
	for i, l := range d.Tasks {
		list[i] = in.tasks.ByID[l.Task]
	}
	return list
}

// isPart reports whether a batch is a part of one that failed.
func isPart(in facts, tasks []run.Landed) bool { return in.tasks.ByID[tasks[0].Task].Part != 0 }

// isAlone reports whether a batch is never split: one patch, or a change set.
func isAlone(d run.LandingData) bool { return d.Set != "" || len(d.Tasks) == 1 }

// mendsOf are the red gates that a batch of some tasks mends.
func mendsOf(tasks []*run.Task) (gates []string) {
	for _, t := range tasks {
		gates = append(gates, t.Task.Mends...)
	}
	slices.Sort(gates)
	return slices.Compact(gates)
}

// throughOf are the gates that may be red in a batch of some tasks, in the passage that it opens or continues; one that it mends
// where the result is not known that it has to be better than.
func throughOf(in facts, tasks []*run.Task, mends []string) (gates []string) {
	for _, t := range tasks {
		gates = append(gates, t.Task.Through...)
	}
	if p := in.batches.Passage; p != nil {
		gates = append(gates, p.Gates...)
	}
	slices.Sort(gates)
	return slices.DeleteFunc(slices.Compact(gates), func(gate string) bool {
		now, _ := in.proofs.Now(gate)
		return slices.Contains(mends, gate) && now.Verdict != spec.VerdictPass
	})
}

// gatesOf is the union of the gates of some tasks, those that a task names, or those that the changed files start, and of more.
func gatesOf(in facts, tasks []*run.Task, changed []string, more ...string) []string {
	names := append(in.spec.AddedNames(), more...)
	for _, t := range tasks {
		if t.ProvedRed() { // what failed without the set is to pass with it, wherever that was
			changed = nil
		}
		if names = append(names, t.Task.Gates...); len(t.Task.Gates) == 0 {
			names = append(names, proof.Started(in.spec, in.proofs, changed)...)
		}
	}
	order := in.spec.GateNames()
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(slices.Index(order, a)-slices.Index(order, b), strings.Compare(a, b))
	})
	return slices.Compact(names)
}

// awaitsRed reports whether the tests of a task's newest attempt have yet to fail without the change, or with a mutant.
func awaitsRed(in facts, t *run.Task) bool {
	return in.spec.Roles[t.Task.Role].Proves == spec.ProvesRedGreen && !t.ProvedRed()
}

// redGates are the gates that must be red with the tests of a task alone; without a change set the one that tries mutants.
func redGates(in facts, t *run.Task) []string {
	if t.Task.ChangeSet == "" {
		return []string{spec.MutantsGate}
	}
	return in.spec.GatesOf(t.Task)
}
