package landing

import (
	"cmp"
	"path"
	"slices"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/orchestrator/landing/blame"
	"divisi/orchestrator/landing/rank"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// What runs before tell of the tasks of a batch that failed.

// confirmed reports whether a failure that leads to one task alone has led to it before, in another run.
func confirmed(in facts, d run.LandingData, id string, f blame.Failure) bool {
	before := in.tasks.ByID[id].Suspected.Tree
	return before != "" && slices.ContainsFunc(in.proofs.Failures[before], func(had run.Failure) bool {
		return had.Receipt.Gate == f.Gate && (before != d.Tree || had.Runs > 1) &&
			slices.Contains(blame.Causes(in.proofs, had.Receipt), f.Signature)
	})
}

// alike reports whether a shard fails as another one did that is not tested with it and went back: in what it alone changed, and
// again, or while no shard of its template has landed.
func alike(in facts, d run.LandingData, id string, own []blame.Failure) bool {
	t := in.tasks.ByID[id]
	return slices.ContainsFunc(own, func(f blame.Failure) bool {
		fault := spec.Fault{Class: wire.FaultGate, Signatures: []string{f.String()}}
		again := !in.templates.BriefProven(t.Task.ShardOf) || confirmed(in, d, id, f)
		return again && in.templates.FailsAlike(t, fault, run.Names(d.Tasks))
	})
}

// untried reports whether some tasks are shards of one template whose brief is unproven.
func untried(in facts, ids []string) bool {
	if len(ids) == 0 {
		return false
	}
	template := in.tasks.ByID[ids[0]].Task.ShardOf
	return template != "" && !in.templates.BriefProven(template) && !slices.ContainsFunc(ids, func(id string) bool {
		return in.tasks.ByID[id].Task.ShardOf != template
	})
}

// certain reports whether a batch that is never split need not be tested again: a file of it does not compile, or it has failed
// in the same way among others, or as another shard did.
func certain(in facts, d run.LandingData, failed []run.Failure) bool {
	ids := run.Names(d.Tasks)
	c, id := blame.Changes(in.tasks, ids), ids[0]
	if d.Set == "" && untried(in, ids) && (failedAmong(in, id, failed) ||
		in.templates.FailsAlike(in.tasks.ByID[id], recovery.Red(in.proofs, failed), nil)) {
		return true
	}
	return slices.ContainsFunc(blame.Failures(in.proofs, failed), func(f blame.Failure) bool {
		return c.Broken(f) || d.Set == "" && len(c.Owners(f)) > 0 && confirmed(in, d, id, f)
	})
}

// failedAmong reports whether the tree that a task failed in among others failed in one of the same gates.
func failedAmong(in facts, id string, failed []run.Failure) bool {
	return slices.ContainsFunc(in.proofs.Failures[in.tasks.ByID[id].Suspected.Tree], func(had run.Failure) bool {
		return slices.ContainsFunc(failed, func(f run.Failure) bool { return f.Receipt.Gate == had.Receipt.Gate })
	})
}

// failsAlone reports whether a part is known to fail: what it was left out of has landed.
func failsAlone(in facts, d run.LandingData) bool {
	return !slices.ContainsFunc(tasksOf(in, d), func(t *run.Task) bool { return !t.Suspected.Out })
}

// refuted lists the tasks of other parts that a batch has failed without, in the same way.
func refuted(in facts, d run.LandingData) (list []string) {
	for t := range in.tasks.In(run.TaskAccepted) {
		other := t.Part != 0 && t.Suspected.Tree != "" && !slices.Contains(run.Names(d.Tasks), t.Task.ID)
		if other && !t.Suspected.Refuted && failsWithout(in, d.Tree, t.Suspected) {
			list = append(list, t.Task.ID)
		}
	}
	return list
}

// failsWithout reports whether trees that failed without a patch, one of them this one, have all failures of the one that failed
// with it.
func failsWithout(in facts, tree string, of run.Suspected) bool {
	absent := func(f blame.Failure) bool {
		return !slices.ContainsFunc(append(slices.Clone(of.Without), tree), func(tree string) bool {
			return slices.ContainsFunc(in.proofs.Failures[tree], func(own run.Failure) bool {
				return own.Receipt.Gate == f.Gate && slices.Contains(own.Receipt.Signatures, f.Signature)
			})
		})
	}
	return !slices.ContainsFunc(blame.Failures(in.proofs, in.proofs.Failures[of.Tree]), absent)
}

// maxWeighed bounds the failures that are read about.
const maxWeighed = 24

// weigh proposes to read what may show which of some tasks is wrong.
func weigh(
	in facts, d run.LandingData, found []blame.Failure, several []string, then func(map[string]float64) []run.Action,
) run.Action {
	w := rank.Weigh{Head: d.Head, Patches: map[string]*spec.Patch{}}
	for _, f := range found[:min(len(found), maxWeighed)] {
		files := slices.DeleteFunc(slices.Concat(f.Positions, f.Paths), func(p string) bool { return path.Ext(p) == "" })
		w.Failures = append(w.Failures, rank.Question{Name: kinds.ReplaceAllLiteralString(f.Signature, ""), Files: files})
	}
	for _, id := range several {
		w.Patches[id] = in.tasks.ByID[id].Result.Patch
	}
	w.Then = func(e rank.Evidence) []run.Action { return then(rank.Odds(w.Failures, e, several)) }
	return w
}

// kinds are the words before the name of what failed.
var kinds = lazyregexp.New(`^(?:test|package|build|FAIL):? `)

// weighed reports whether it is known how likely each of some tasks is the wrong one.
func weighed(in facts, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		return in.tasks.ByID[id].Part == 0 || in.tasks.ByID[id].Suspected.Odds == 0
	})
}

func odds(in facts, ids []string) map[string]float64 {
	odds := map[string]float64{}
	for _, id := range ids {
		odds[id] = in.tasks.ByID[id].Suspected.Odds
	}
	return odds
}

// mostLikely are the tasks that a batch is tested without next: so many that the wrong one is rather among them than not, and at
// most half.
func mostLikely(tasks []string, odds map[string]float64) []string {
	sum, sorted := 0.0, byOdds(tasks, odds)
	for _, id := range tasks {
		sum += odds[id]
	}
	n, mass := 0, 0.0
	for n < max(1, len(tasks)/2) && mass < sum/2 {
		mass += odds[sorted[n]]
		n++
	}
	return sorted[:n]
}

// half are the more likely half of some tasks: where the most likely ones were not wrong, their order tells little.
func half(in facts, ids []string) []string { return byOdds(ids, odds(in, ids))[:(len(ids)+1)/2] }

// byOdds sorts tasks, the most likely first; of those that are alike the last ones.
func byOdds(tasks []string, odds map[string]float64) []string {
	sorted := slices.Clone(tasks)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(odds[b], odds[a]) })
	return sorted
}
