package landing

import (
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// verdict is what the failures of a batch tell of its tasks. Guilty are those that need no further test, each with the failures
// that lead to it alone; named are the others that a failure leads to alone, several those that share one.
type verdict struct {
	guilty         map[string][]failure
	named, several []string
	// alone are tested one by one: a few shards of a template whose brief is unproven, where no failure leads to one of them.
	alone []string
	// goesOn reports that a search among them goes on: some others are taken for right. Apart reports that the named ones can be
	// told from each other when they are tested together.
	goesOn, apart bool
}

// judge sends the tasks back that are proven wrong, and splits the rest: what no failure leads to, then those that may be wrong.
// The tasks that one failure each leads to are tested after it: where it comes again, that is the verdict.
func judge(s *run.State, d run.LandingData, failed []run.Failure, receipts []spec.Receipt) []run.Action {
	in := factsOf(s)
	v := verdictOn(in, d, receipts)
	var actions []run.Action
	for _, id := range run.Names(d.Tasks) {
		if of := v.guilty[id]; of != nil {
			actions = append(actions, goBack(s, in.tasks.ByID[id], faultOf(in.proofs, failed, of, len(v.guilty) == 1), of)...)
		}
	}
	if len(v.several) > 1 && !weighed(in.tasks, v.several) {
		return []run.Action{weigh(in.tasks, in.proofs, d, receipts, v.several, func(odds map[string]float64) []run.Action {
			if len(v.several) == len(d.Tasks) && untried(in.tasks, in.templates, v.several) {
				return oneFirst(in.works, in.batches, d, byOdds(v.several, odds), odds)
			}
			return append(cut(in, d, v, mostLikely(v.several, odds), odds), actions...)
		})}
	}
	return append(cut(in, d, v, half(in.tasks, v.several), nil), actions...)
}

func verdictOn(in facts, d run.LandingData, receipts []spec.Receipt) verdict {
	c, v := changes(in.tasks, run.Names(d.Tasks)), verdict{guilty: map[string][]failure{}}
	found, named := failures(in.proofs, receipts), map[string][]failure{}
	owners := make([][]string, len(found))
	for i, f := range found {
		if owners[i] = c.owners(f); len(owners[i]) == 1 {
			named[owners[i][0]] = append(named[owners[i][0]], f)
		}
	}
	all := slices.DeleteFunc(run.Names(d.Tasks), func(id string) bool { return named[id] == nil })
	alone := told(in.tasks, c, named, all)
	for _, id := range all {
		unclear := !alone && slices.ContainsFunc(all, func(other string) bool { return siblings(in.tasks, id, other) })
		proven := func(f failure) bool {
			own := f.compile && len(c.of(f.positions)) > 0 && !brought(c, f, id)
			return own || !unclear && confirmed(in.tasks, in.proofs, d, id, f)
		}
		if slices.ContainsFunc(named[id], proven) && !related(c, named, v.guilty, id) || alike(in, d, id, named[id]) {
			v.guilty[id] = named[id]
		}
	}
	several := map[string]bool{}
	for _, own := range owners {
		if !slices.ContainsFunc(own, func(id string) bool { return named[id] != nil }) { // that one explains it
			for _, id := range own {
				several[id] = true
			}
		}
	}
	right := func(id string) bool { return in.tasks.ByID[id].Suspected.Right }
	some := slices.DeleteFunc(run.Names(d.Tasks), func(id string) bool {
		return len(named)+len(several) > 0 && !several[id]
	})
	if v.several = slices.DeleteFunc(slices.Clone(some), right); len(v.several) == 0 {
		v.several = some // what was taken for right is not
	} else {
		v.goesOn = true
	}
	if len(v.several) <= maxAlone && untried(in.tasks, in.templates, v.several) && in.tasks.ByID[d.Tasks[0].Task].Part == 0 {
		v.alone, v.several, v.goesOn = v.several, nil, false
	}
	v.named = slices.DeleteFunc(all, func(id string) bool { return v.guilty[id] != nil })
	v.apart = told(in.tasks, c, named, v.named)
	return v
}

// confirmed reports whether a failure that leads to one task alone has led to it before, in another run.
func confirmed(tasks *run.Tasks, proofs *run.Proofs, d run.LandingData, id string, f failure) bool {
	before := tasks.ByID[id].Suspected.Tree
	return before != "" && slices.ContainsFunc(proofs.Failures[before], func(had run.Failure) bool {
		return had.Receipt.Gate == f.gate && (before != d.Tree || had.Runs > 1) &&
			slices.Contains(causes(proofs, had.Receipt), f.signature)
	})
}

// alike reports whether a shard fails as another one did that is not tested with it and went back: in what it alone changed, and
// again, or while no shard of its template has landed.
func alike(in facts, d run.LandingData, id string, own []failure) bool {
	t, beside := in.tasks.ByID[id], run.Names(d.Tasks)
	return slices.ContainsFunc(own, func(f failure) bool {
		fault := spec.Fault{Class: wire.FaultGate, Signatures: []string{f.gate + ": " + f.signature}}
		again := !in.templates.BriefProven(t.Task.ShardOf) || confirmed(in.tasks, in.proofs, d, id, f)
		return again && in.templates.FailsAlike(t, fault, beside)
	})
}

// untried reports whether some tasks are shards of one template whose brief is unproven.
func untried(tasks *run.Tasks, templates *run.Templates, ids []string) bool {
	if len(ids) == 0 {
		return false
	}
	template := tasks.ByID[ids[0]].Task.ShardOf
	return template != "" && !templates.BriefProven(template) && !slices.ContainsFunc(ids, func(id string) bool {
		return tasks.ByID[id].Task.ShardOf != template
	})
}

// certain reports whether a batch that is never cut need not be tested again: a file of it does not compile, or it has failed in
// the same way among others, or as another shard did.
func certain(in facts, d run.LandingData, failed []run.Failure) bool {
	c, id := changes(in.tasks, run.Names(d.Tasks)), d.Tasks[0].Task
	if d.Set == "" && untried(in.tasks, in.templates, run.Names(d.Tasks)) &&
		(failedAmong(in.tasks, in.proofs, id, failed) ||
			in.templates.FailsAlike(in.tasks.ByID[id], recovery.Red(in.proofs, failed), nil)) {
		return true
	}
	return slices.ContainsFunc(failures(in.proofs, run.ReceiptsOf(failed)), func(f failure) bool {
		return f.compile && len(c.of(f.positions)) > 0 ||
			d.Set == "" && len(c.owners(f)) > 0 && confirmed(in.tasks, in.proofs, d, id, f)
	})
}

// failedAmong reports whether the tree that a task failed in among others failed in one of the same gates.
func failedAmong(tasks *run.Tasks, proofs *run.Proofs, id string, failed []run.Failure) bool {
	return slices.ContainsFunc(proofs.Failures[tasks.ByID[id].Suspected.Tree], func(had run.Failure) bool {
		return slices.ContainsFunc(failed, func(f run.Failure) bool { return f.Receipt.Gate == had.Receipt.Gate })
	})
}

// faultOf is what a task is told whose failures are known, of all that failed in its batch.
func faultOf(proofs *run.Proofs, failed []run.Failure, of []failure, alone bool) spec.Fault {
	f := recovery.Red(proofs, failed)
	if alone {
		return f
	}
	f.Signatures = nil
	for _, own := range of {
		f.Signatures = append(f.Signatures, own.gate+": "+own.signature)
	}
	slices.Sort(f.Signatures)
	f.Signatures = slices.Compact(f.Signatures)
	f.Message = "the gates fail in what this task changed: " + text.Some(f.Signatures, maxMet)
	return f
}

// cut splits a batch: what is taken for right, what may be wrong and is left out of it, and the named ones.
func cut(in facts, d run.LandingData, v verdict, out []string, odds map[string]float64) []run.Action {
	search := &run.Search{Named: slices.Concat(v.named, v.alone), Out: out, Odds: odds}
	var first []string
	for _, id := range run.Names(d.Tasks) {
		if v.guilty[id] != nil || slices.Contains(search.Named, id) || slices.Contains(out, id) {
			continue
		}
		first = append(first, id)
		if len(v.several) == 0 && in.tasks.ByID[id].Suspected.Right || len(v.several) > 0 && !slices.Contains(v.several, id) {
			search.Right = append(search.Right, id)
		}
	}
	if v.goesOn {
		right := refuted(in.tasks, in.proofs, d)
		first, search.Right = append(first, right...), append(search.Right, right...)
	}
	if len(v.several) == len(d.Tasks) && in.tasks.ByID[d.Tasks[0].Task].Part == 0 {
		d.Limit = max(1, len(d.Tasks)/2)
	}
	parts := [][]string{first, out}
	for _, id := range v.alone {
		parts = append(parts, []string{id})
	}
	if v.apart {
		return split(in.works, in.batches, d, append(parts, v.named), search)
	}
	return split(in.works, in.batches, d, append(parts, partsOf(in.tasks, v.named)...), search)
}

// refuted lists the tasks of other parts that a batch has failed without, in the same way.
func refuted(tasks *run.Tasks, proofs *run.Proofs, d run.LandingData) (list []string) {
	for t := range tasks.In(run.TaskAccepted) {
		other := t.Part != 0 && t.Suspected.Tree != "" && !slices.Contains(run.Names(d.Tasks), t.Task.ID)
		if other && !t.Suspected.Refuted && cleared(proofs, d.Tree, t.Suspected) {
			list = append(list, t.Task.ID)
		}
	}
	return list
}

// cleared reports whether trees that failed without a patch, one of them this one, have all failures of the one that failed with
// it.
func cleared(proofs *run.Proofs, tree string, of run.Suspected) bool {
	has := func(f run.Failure, signature string) bool {
		return slices.ContainsFunc(append(slices.Clone(of.Without), tree), func(tree string) bool {
			return slices.ContainsFunc(proofs.Failures[tree], func(own run.Failure) bool {
				return own.Receipt.Gate == f.Receipt.Gate && slices.Contains(own.Receipt.Signatures, signature)
			})
		})
	}
	return !slices.ContainsFunc(proofs.Failures[of.Tree], func(f run.Failure) bool {
		return slices.ContainsFunc(causes(proofs, f.Receipt), func(signature string) bool { return !has(f, signature) })
	})
}

// oneFirst splits a batch of shards whose brief is unproven, where nothing tells which is wrong: the most likely one is tested
// alone, once. Where it fails too, that is how the others go on.
func oneFirst(works run.Works, batches *run.Batches, d run.LandingData, sorted []string, odds map[string]float64) []run.Action {
	return split(works, batches, d, [][]string{sorted[:1], sorted[1:]}, &run.Search{Named: sorted, Odds: odds})
}

// failsAlone reports whether a part is known to fail: what it was left out of has landed.
func failsAlone(tasks *run.Tasks, batch []run.Landed) bool {
	return !slices.ContainsFunc(batch, func(l run.Landed) bool { return !tasks.ByID[l.Task].Suspected.Out })
}

// cutAgain splits a part that is known to fail, without a test.
func cutAgain(in facts, d run.LandingData) []run.Action {
	v := verdict{several: run.Names(d.Tasks)}
	return cut(in, d, v, mostLikely(v.several, known(in.tasks, v.several)), nil)
}
