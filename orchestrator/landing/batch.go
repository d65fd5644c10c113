package landing

import (
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// merge proposes to merge what is next in the queue onto the newest batch under test, in memory; a part of one that failed onto
// the integration head. A change set that a person has yet to see is held, and one that changes nothing is done.
func merge(in facts, next []*run.Task) []run.Action {
	onto := in.head
	if n := len(in.batches.Testing); n > 0 && next[0].Part == 0 {
		onto = in.batches.Testing[n-1].Head
	}
	set := in.tasks.Set(next[0])
	if set == nil {
		m := mergeOf(in, onto, next)
		m.Window = func(ready []string) (time.Time, time.Duration) { return window(in, next, ready) }
		m.Then = func(c Chain) []run.Action { return merged(in, onto, c) }
		return []run.Action{m}
	}
	var held, done []run.Action
	for _, t := range set.Members {
		if t.Ended() { // a kill came between two of these events
			continue
		}
		if done = append(done, run.SetTask(t.Task.ID, run.TaskData{State: run.TaskDone})); in.spec.ToReview(t) {
			held = append(held, run.Review(t))
		}
	}
	m := mergeOfSet(in, onto, set, nil)
	m.Then = func(c Chain) []run.Action { return mergedSet(in, onto, set, c) }
	switch {
	case len(held) > 0:
		return held
	case len(m.Candidates) == 0:
		return done
	}
	return []run.Action{m}
}

// merged sends back what conflicts with the integration head and proposes to test the chain. A patch that conflicts only with
// others of its batch, or with a batch under test, waits: regenerated now, it would start from the old head and conflict once
// more.
func merged(in facts, onto string, chain Chain) (actions []run.Action) {
	for _, k := range chain.Conflicts {
		if !k.Waits {
			f := conflict("it conflicts with landed changes", k)
			actions = append(actions, sendBack(in, in.tasks.ByID[k.Task], f)...)
		}
	}
	if len(chain.Merged) == 0 {
		return actions
	}
	d := batchOf(in, onto, chain)
	for _, m := range chain.Merged {
		d.Tasks = append(d.Tasks, batchTask(in, in.tasks.ByID[m.Task], m.Landed))
	}
	return append(actions, prove(in, d, chain.Changed)...)
}

func batchOf(in facts, onto string, c Chain) run.LandingData {
	return run.LandingData{Batch: in.batches.Count + 1, Old: onto, Head: c.Head, Tree: c.Tree}
}

// batchTask is a task's part of a batch.
func batchTask(in facts, t *run.Task, commit string) run.Landed {
	l := run.Landed{Task: t.Task.ID, Attempt: t.Attempt, Commit: commit, Files: len(t.Changes())}
	l.Unverified, l.Better = caveatsOf(in, t)
	for _, k := range t.Patches() {
		l.Added, l.Deleted = l.Added+k.Patch.Added, l.Deleted+k.Patch.Deleted
	}
	return l
}

// conflict is the fault of a patch that does not merge.
func conflict(what string, k Conflict) spec.Fault {
	return spec.Fault{Class: wire.FaultConflict, Message: what + " in " + strings.Join(k.Paths, ", "), Detail: k.Message}
}

// mergedSet proposes to test a merged set. Tasks whose patches conflict have another attempt, on the others' changes. Conflicts
// with a batch under test count when that has landed.
func mergedSet(in facts, onto string, set *run.ChangeSet, chain Chain) (actions []run.Action) {
	for _, k := range chain.Conflicts {
		if onto != in.head {
			return nil
		}
		actions = append(actions, onSet(in, in.tasks.ByID[k.Task],
			conflict("it conflicts with landed changes, or with its change set,", k), chain.Head, false)...)
	}
	if len(actions) > 0 {
		return actions
	}
	d, commits := batchOf(in, onto, chain), map[string]string{}
	for _, m := range chain.Merged {
		commits[m.Task] = m.Landed
	}
	d.Set = set.Name
	for _, t := range set.Members {
		d.Tasks = append(d.Tasks, batchTask(in, t, commits[t.Task.ID]))
	}
	return prove(in, d, chain.Changed)
}

// ProveRed proposes to run the gates on the tests of a change set alone, on the integration head, before the set is merged: they
// must fail there. That they pass with the change is proven with the set. Tests of code that exists, without a set, must fail
// with mutants of it.
func ProveRed(s *run.State) []run.Action {
	in := factsOf(s)
	if !in.isBaselined {
		return nil
	}
	for t := range in.tasks.In(run.TaskAccepted) {
		if set := in.tasks.Set(t); awaitsRed(in, t) && (set == nil || set.Lost == nil) {
			if actions := proveRed(in, t, set); len(actions) > 0 {
				return actions
			}
		}
	}
	return nil
}

func proveRed(in facts, t *run.Task, set *run.ChangeSet) []run.Action {
	red := run.Red{Of: t.Attempt}
	if t.Red != nil && t.Red.Of == t.Attempt {
		if red = *t.Red; red.Tree != "" {
			return ranRed(in, t, red)
		}
	}
	m, conflicts := mergeOf(in, in.head, []*run.Task{t}), "it conflicts with landed changes"
	if set != nil {
		others := map[string]bool{}
		for _, m := range set.Members {
			others[m.Task.ID] = m != t
		}
		m, conflicts = mergeOfSet(in, in.head, set, others), "without the rest of its change set "+conflicts
	}
	if t.Result.Patch == nil || len(m.Candidates) == 0 {
		return unproven(in, t, "the task wrote no test", "")
	}
	m.Then = func(c Chain) []run.Action {
		if len(c.Conflicts) > 0 {
			return sendBack(in, t, conflict(conflicts, c.Conflicts[0]))
		}
		red.Tree, red.Since = c.Tree, in.head
		return runRed(in, t, red, c.Head)
	}
	return []run.Action{m}
}
