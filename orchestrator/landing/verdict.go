package landing

import (
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance"
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
	v := verdictOn(s, d, receipts)
	var actions []run.Action
	for _, id := range run.Names(d.Tasks) {
		if of := v.guilty[id]; of != nil {
			actions = append(actions, goBack(s, s.Tasks.ByID[id], faultOf(s, failed, of, len(v.guilty) == 1), of)...)
		}
	}
	if len(v.several) > 1 && !weighed(s, v.several) {
		return []run.Action{weigh(s, d, receipts, v.several, func(odds map[string]float64) []run.Action {
			if len(v.several) == len(d.Tasks) && untried(s, v.several) {
				return oneFirst(s, d, byOdds(v.several, odds), odds)
			}
			return append(cut(s, d, v, mostLikely(v.several, odds), odds), actions...)
		})}
	}
	return append(cut(s, d, v, half(s, v.several), nil), actions...)
}

func verdictOn(s *run.State, d run.LandingData, receipts []spec.Receipt) verdict {
	c, v := changes(s, run.Names(d.Tasks)), verdict{guilty: map[string][]failure{}}
	found, named := failures(s, receipts), map[string][]failure{}
	owners := make([][]string, len(found))
	for i, f := range found {
		if owners[i] = c.owners(f); len(owners[i]) == 1 {
			named[owners[i][0]] = append(named[owners[i][0]], f)
		}
	}
	all := slices.DeleteFunc(run.Names(d.Tasks), func(id string) bool { return named[id] == nil })
	alone := told(s, c, named, all)
	for _, id := range all {
		unclear := !alone && slices.ContainsFunc(all, func(other string) bool { return siblings(s, id, other) })
		proven := func(f failure) bool {
			return f.compile && len(c.of(f.positions)) > 0 && !brought(c, f, id) || !unclear && confirmed(s, d, id, f)
		}
		if slices.ContainsFunc(named[id], proven) && !related(c, named, v.guilty, id) || alike(s, d, id, named[id]) {
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
	right := func(id string) bool { return s.Tasks.ByID[id].Suspected.Right }
	some := slices.DeleteFunc(run.Names(d.Tasks), func(id string) bool {
		return len(named)+len(several) > 0 && !several[id]
	})
	if v.several = slices.DeleteFunc(slices.Clone(some), right); len(v.several) == 0 {
		v.several = some // what was taken for right is not
	} else {
		v.goesOn = true
	}
	if len(v.several) <= maxAlone && untried(s, v.several) && s.Tasks.ByID[d.Tasks[0].Task].Part == 0 {
		v.alone, v.several, v.goesOn = v.several, nil, false
	}
	v.named = slices.DeleteFunc(all, func(id string) bool { return v.guilty[id] != nil })
	v.apart = told(s, c, named, v.named)
	return v
}

// confirmed reports whether a failure that leads to one task alone has led to it before, in another run.
func confirmed(s *run.State, d run.LandingData, id string, f failure) bool {
	before := s.Tasks.ByID[id].Suspected.Tree
	return before != "" && slices.ContainsFunc(s.Proofs.Failures[before], func(had run.Failure) bool {
		return had.Receipt.Gate == f.gate && (before != d.Tree || had.Runs > 1) &&
			slices.Contains(causes(s, had.Receipt), f.signature)
	})
}

// alike reports whether a shard fails as another one did that is not tested with it and went back: in what it alone changed, and
// again, or while no shard of its template has landed.
func alike(s *run.State, d run.LandingData, id string, own []failure) bool {
	t, beside := s.Tasks.ByID[id], run.Names(d.Tasks)
	return slices.ContainsFunc(own, func(f failure) bool {
		fault := spec.Fault{Class: wire.FaultGate, Signatures: []string{f.gate + ": " + f.signature}}
		return (!s.Templates.BriefProven(t.Task.ShardOf) || confirmed(s, d, id, f)) && s.Templates.FailsAlike(t, fault, beside)
	})
}

// untried reports whether some tasks are shards of one template whose brief is unproven.
func untried(s *run.State, tasks []string) bool {
	if len(tasks) == 0 {
		return false
	}
	template := s.Tasks.ByID[tasks[0]].Task.ShardOf
	return template != "" && !s.Templates.BriefProven(template) && !slices.ContainsFunc(tasks, func(id string) bool {
		return s.Tasks.ByID[id].Task.ShardOf != template
	})
}

// certain reports whether a batch that is never cut need not be tested again: a file of it does not compile, or it has failed in
// the same way among others, or as another shard did.
func certain(s *run.State, d run.LandingData, failed []run.Failure) bool {
	c, id := changes(s, run.Names(d.Tasks)), d.Tasks[0].Task
	if d.Set == "" && untried(s, run.Names(d.Tasks)) &&
		(failedAmong(s, id, failed) || s.Templates.FailsAlike(s.Tasks.ByID[id], acceptance.Red(s, failed), nil)) {
		return true
	}
	return slices.ContainsFunc(failures(s, run.ReceiptsOf(failed)), func(f failure) bool {
		return f.compile && len(c.of(f.positions)) > 0 ||
			d.Set == "" && len(c.owners(f)) > 0 && confirmed(s, d, id, f)
	})
}

// failedAmong reports whether the tree that a task failed in among others failed in one of the same gates.
func failedAmong(s *run.State, id string, failed []run.Failure) bool {
	return slices.ContainsFunc(s.Proofs.Failures[s.Tasks.ByID[id].Suspected.Tree], func(had run.Failure) bool {
		return slices.ContainsFunc(failed, func(f run.Failure) bool { return f.Receipt.Gate == had.Receipt.Gate })
	})
}

// faultOf is what a task is told whose failures are known, of all that failed in its batch.
func faultOf(s *run.State, failed []run.Failure, of []failure, alone bool) spec.Fault {
	f := acceptance.Red(s, failed)
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
func cut(s *run.State, d run.LandingData, v verdict, out []string, odds map[string]float64) []run.Action {
	search := &run.Search{Named: slices.Concat(v.named, v.alone), Out: out, Odds: odds}
	var first []string
	for _, id := range run.Names(d.Tasks) {
		if v.guilty[id] != nil || slices.Contains(search.Named, id) || slices.Contains(out, id) {
			continue
		}
		first = append(first, id)
		if len(v.several) == 0 && s.Tasks.ByID[id].Suspected.Right || len(v.several) > 0 && !slices.Contains(v.several, id) {
			search.Right = append(search.Right, id)
		}
	}
	if v.goesOn {
		right := refuted(s, d)
		first, search.Right = append(first, right...), append(search.Right, right...)
	}
	if len(v.several) == len(d.Tasks) && s.Tasks.ByID[d.Tasks[0].Task].Part == 0 {
		d.Limit = max(1, len(d.Tasks)/2)
	}
	parts := [][]string{first, out}
	for _, id := range v.alone {
		parts = append(parts, []string{id})
	}
	if v.apart {
		return split(s, d, append(parts, v.named), search)
	}
	return split(s, d, append(parts, partsOf(s, v.named)...), search)
}

// refuted lists the tasks of other parts that a batch has failed without, in the same way.
func refuted(s *run.State, d run.LandingData) (list []string) {
	for t := range s.Tasks.In(run.TaskAccepted) {
		other := t.Part != 0 && t.Suspected.Tree != "" && !slices.Contains(run.Names(d.Tasks), t.Task.ID)
		if other && !t.Suspected.Refuted && cleared(s, d.Tree, t.Suspected) {
			list = append(list, t.Task.ID)
		}
	}
	return list
}

// cleared reports whether trees that failed without a patch, one of them this one, have all failures of the one that failed with
// it.
func cleared(s *run.State, tree string, of run.Suspected) bool {
	has := func(f run.Failure, signature string) bool {
		return slices.ContainsFunc(append(slices.Clone(of.Without), tree), func(tree string) bool {
			return slices.ContainsFunc(s.Proofs.Failures[tree], func(own run.Failure) bool {
				return own.Receipt.Gate == f.Receipt.Gate && slices.Contains(own.Receipt.Signatures, signature)
			})
		})
	}
	return !slices.ContainsFunc(s.Proofs.Failures[of.Tree], func(f run.Failure) bool {
		return slices.ContainsFunc(causes(s, f.Receipt), func(signature string) bool { return !has(f, signature) })
	})
}

// oneFirst splits a batch of shards whose brief is unproven, where nothing tells which is wrong: the most likely one is tested
// alone, once. Where it fails too, that is how the others go on.
func oneFirst(s *run.State, d run.LandingData, sorted []string, odds map[string]float64) []run.Action {
	return split(s, d, [][]string{sorted[:1], sorted[1:]}, &run.Search{Named: sorted, Odds: odds})
}

// failsAlone reports whether a part is known to fail: what it was left out of has landed.
func failsAlone(s *run.State, tasks []run.Landed) bool {
	return !slices.ContainsFunc(tasks, func(l run.Landed) bool { return !s.Tasks.ByID[l.Task].Suspected.Out })
}

// cutAgain splits a part that is known to fail, without a test.
func cutAgain(s *run.State, d run.LandingData) []run.Action {
	v := verdict{several: run.Names(d.Tasks)}
	return cut(s, d, v, mostLikely(v.several, known(s, v.several)), nil)
}
