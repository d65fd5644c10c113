package landing

import (
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/landing/blame"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// maxRuns is how often the same gates run on a tree: once more after a failure, to tell it from a flake.
const maxRuns = 2

// knownVerdict is the verdict on a merged chain on the head that is known without its gates: its tree was tested, or what is
// known of its tasks tells more than a test would.
func knownVerdict(in facts, d run.LandingData, gates []string) (actions []run.Action, known bool) {
	if d.Old != in.head {
		return nil, false
	}
	ids, failed := run.Names(d.Tasks), in.proofs.Failed(d.Tree, gates, d.Old)
	otherTree := func(t *run.Task) bool { return t.Suspected.Tree != d.Tree }
	suspected := !slices.ContainsFunc(tasksOf(in, d), otherTree) // all that its tree leads to: that it fails again is the verdict
	times := 1                                                   // a part of several tasks is split at once
	if blame.FlakesAlone(in.proofs, failed) || isAlone(d) || !isPart(in, d.Tasks) || suspected {
		times = maxRuns
	}
	receipts, _, lands := verified(in, d, gates)
	switch {
	case lands:
		d.Receipts = receipts
		return landGreen(in, d), true
	case !isAlone(d) && failsAlone(in, d):
		return splitAgain(in, d), true
	case !isAlone(d) && untried(in, ids) && weighed(in, ids):
		return tryMostLikely(in, d, byOdds(ids, odds(in, ids)), nil), true
	case in.proofs.Runs(d.Tree, gates, d.Old) >= times:
		return rejectBatch(in, d, failed), true
	}
	return nil, false
}

// decideBatch decides about a batch whose gates have ended: it lands, is tested again, or is split. verified (receipt.go) decides
// what is green.
func decideBatch(in facts, b *run.Batch, d run.LandingData, r spec.Result) []run.Action {
	failed := in.proofs.Failed(b.Tree, b.Gates, b.Old)
	receipts, proven, lands := verified(in, d, b.Gates)
	d.Receipts = r.Receipts
	if !provedOn(b.Tree, r.Receipts) || r.Status == spec.StatusDone && !proven && len(failed) == 0 { // else it is red elsewhere
		d.Receipts, r.Status = nil, spec.StatusFailed // they prove nothing about the commits that would land
	}
	fault, mayRun := run.FaultOf(&r), recovery.MaxGateTries+in.works.Foreign(b.Work)
	switch {
	case b.Old != in.head && (isAlone(d) || r.Status == spec.StatusDone || proven):
		d.State = run.LandingDropped
		return []run.Action{run.Append{Data: d}} // what has landed since may change the verdict
	case proven: // every gate has passed on it, in one run or another
		if d.Receipts = receipts; lands {
			return landGreen(in, d)
		}
		return redAgain(in, d)
	case slices.ContainsFunc(d.Receipts, isKilled) && b.Tries < mayRun:
		return retest(b, d)
	case len(d.Receipts) > 0:
		flake := blame.FlakesAlone(in.proofs, failed) || isAlone(d) && !certain(in, d, failed)
		runs := in.proofs.Runs(d.Tree, b.Gates, b.Old)
		if flake && runs < maxRuns && b.Tries <= mayRun { // a gate that failed may not run again: tries have an end
			return retest(b, d)
		}
		return rejectBatch(in, d, failed)
	case fault.Class == wire.FaultTree:
		return cannotCheckOut(in, d, fault)
	case in.proofs.Outdated: // a baseline of another environment is made again first
		return nil
	case b.Tries > mayRun && in.works[b.Work].Attempts[b.Attempt].Epoch == in.epoch: // no task's fault: a resumed run tries again
		return []run.Action{run.Fail{Err: fmt.Errorf("the gates of batch %d could not be run: %s", b.Number, fault.Message)}}
	default:
		return retest(b, d)
	}
}

// redAgain drops a change set that has passed in another environment than its tests have failed in, and has these fail once more.
// Where that does not come to an end, the run does.
func redAgain(in facts, d run.LandingData) []run.Action {
	dropped := drop(in, d)
	var again []run.Action
	for _, t := range provingOf(in, d) {
		red := run.Red{Of: t.Attempt, In: t.Red.In, Again: t.Red.Again + 1}
		a := in.works[t.Task.ID+run.RedSuffix].Newest()
		if red.Again > recovery.MaxGateTries && a != nil && a.Epoch == in.epoch {
			return append(dropped, run.Fail{Err: fmt.Errorf("the tests of %s fail without the change set %s in one environment "+
				"of workers, and the set passes in another one. Have workers of one of them alone, and go on", t.Task.ID, d.Set)})
		}
		again = append(again, run.SetTask(t.Task.ID, run.TaskData{State: run.TaskAccepted, Red: &red}))
	}
	return append(dropped, again...)
}

// rejectBatch splits a batch whose tree has failed, and drops those that are built on it. The only task of a batch goes back.
func rejectBatch(in facts, d run.LandingData, failed []run.Failure) []run.Action {
	found := blame.Failures(in.proofs, failed)
	switch {
	case d.Set != "":
		return append(split(in, d, nil), redSet(in, d, failed, found)...)
	case len(d.Tasks) > 1:
		return judge(in, d, failed, found)
	}
	t := in.tasks.ByID[d.Tasks[0].Task]
	f := recovery.Red(in.proofs, failed)
	if blame.Forgotten(in.tasks, t.Changes(), found) == nil { // else it is known what it is red with
		f.Message = blame.Together(in.tasks, t, in.tasks.Ends(in.works[t.Task.ID].Attempts[t.Attempt].Pos), found) + f.Message
	}
	right := refuted(in, d)
	if untried(in, append(run.Names(d.Tasks), right...)) {
		right = nil // they may be as wrong
	}
	return append(split(in, d, &run.Search{Right: right}, right), goBack(in, t, f, found)...)
}

// attribution is the meaning of a batch's failures for its tasks. Guilty are those that need no further test, each with the
// failures that lead to it alone; named are the others that a failure leads to alone, several those that share one.
type attribution struct {
	guilty         blame.Named
	named, several []string
	// alone are tested one by one: a few shards of a template whose brief is unproven, where no failure leads to one of them.
	alone []string
	// continues reports that a search among them continues: some others are taken for right. distinguishable reports that the
	// named ones can be told from each other when they are tested together.
	continues, distinguishable bool
}

// judge sends the tasks back that are proven wrong, and splits the rest: what no failure leads to, then those that may be wrong.
// The tasks that one failure each leads to are tested after it: where it comes again, that is the verdict.
func judge(in facts, d run.LandingData, failed []run.Failure, found []blame.Failure) []run.Action {
	v := attribute(in, d, found)
	var actions []run.Action
	for _, t := range tasksOf(in, d) {
		if of := v.guilty[t.Task.ID]; of != nil {
			actions = append(actions, goBack(in, t, faultOf(in, failed, of, len(v.guilty) == 1), of)...)
		}
	}
	if len(v.several) > 1 && !weighed(in, v.several) {
		return []run.Action{weigh(in, d, found, v.several, func(odds map[string]float64) []run.Action {
			if len(v.several) == len(d.Tasks) && untried(in, v.several) {
				return tryMostLikely(in, d, byOdds(v.several, odds), odds)
			}
			return append(splitSuspects(in, d, v, mostLikely(v.several, odds), odds), actions...)
		})}
	}
	return append(splitSuspects(in, d, v, half(in, v.several), nil), actions...)
}

func attribute(in facts, d run.LandingData, found []blame.Failure) attribution {
	ids := run.Names(d.Tasks)
	c, v, named := blame.Changes(in.tasks, ids), attribution{guilty: blame.Named{}}, blame.Named{}
	for _, f := range found {
		if own := c.Owners(f); len(own) == 1 {
			named[own[0]] = append(named[own[0]], f)
		}
	}
	isNamed := func(id string) bool { return named[id] != nil }
	all := keep(ids, isNamed)
	distinguishable := c.Distinguishable(in.tasks, named, all)
	for _, id := range all {
		sibling := func(other string) bool { return blame.Siblings(in.tasks, id, other) }
		unclear := !distinguishable && slices.ContainsFunc(all, sibling)
		proven := func(f blame.Failure) bool { return c.Own(f, id) || !unclear && confirmed(in, d, id, f) }
		if slices.ContainsFunc(named[id], proven) && !c.Related(named, v.guilty, id) || alike(in, d, id, named[id]) {
			v.guilty[id] = named[id]
		}
	}
	several := map[string]bool{}
	for _, f := range found {
		if own := c.Owners(f); !slices.ContainsFunc(own, isNamed) { // else that one explains it
			for _, id := range own {
				several[id] = true
			}
		}
	}
	some := keep(ids, func(id string) bool { return len(named)+len(several) == 0 || several[id] })
	v.several = keep(some, func(id string) bool { return !in.tasks.ByID[id].Suspected.Right })
	if v.continues = len(v.several) > 0; !v.continues {
		v.several = some // what was taken for right is not
	}
	if len(v.several) <= blame.MaxAlone && untried(in, v.several) && !isPart(in, d.Tasks) {
		v.alone, v.several, v.continues = v.several, nil, false
	}
	v.named = keep(all, func(id string) bool { return v.guilty[id] == nil })
	v.distinguishable = c.Distinguishable(in.tasks, named, v.named)
	return v
}

// keep are those of some tasks for which something holds.
func keep(ids []string, holds func(id string) bool) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !holds(id) })
}

// faultOf returns the error for a task whose failures are known, of all that failed in its batch.
func faultOf(in facts, failed []run.Failure, of []blame.Failure, alone bool) spec.Fault {
	f := recovery.Red(in.proofs, failed)
	if alone {
		return f
	}
	f.Signatures = nil
	for _, own := range of {
		f.Signatures = append(f.Signatures, own.String())
	}
	slices.Sort(f.Signatures)
	f.Signatures = slices.Compact(f.Signatures)
	f.Message = "the gates fail in the changes of this task: " + text.Some(f.Signatures, blame.MaxNamed)
	return f
}

// goBack sends a task back whose gates failed. Where that parks it, the reason names what fails in files that no task may change.
func goBack(in facts, t *run.Task, f spec.Fault, found []blame.Failure) []run.Action {
	actions, forgotten := sendBack(in, t, f), blame.Forgotten(in.tasks, t.Changes(), found)
	if forgotten == nil {
		return actions
	}
	if forgotten.Only && t.Result != nil && t.Result.Patch != nil {
		forgotten.Head = t.Result.Patch.Commit
	}
	return changed(actions, func(d *run.TaskData) {
		if d.Fault == nil {
			return
		}
		if d.Forgotten = forgotten; d.State == run.TaskParked {
			d.Reason += ". It " + blame.Words(in.spec, forgotten, "is to change", recovery.Widen(in.spec, t))
		}
	})
}

// splitSuspects splits a batch: what is taken for right, what may be wrong and is left out of it, and the named ones.
func splitSuspects(in facts, d run.LandingData, v attribution, out []string, odds map[string]float64) []run.Action {
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
	if v.continues {
		right := refuted(in, d)
		first, search.Right = append(first, right...), append(search.Right, right...)
	}
	if len(v.several) == len(d.Tasks) && !isPart(in, d.Tasks) {
		d.Limit = max(1, len(d.Tasks)/2)
	}
	parts := [][]string{first, out}
	for _, id := range v.alone {
		parts = append(parts, []string{id})
	}
	if v.distinguishable {
		return split(in, d, search, append(parts, v.named)...)
	}
	return split(in, d, search, append(parts, blame.Parts(in.tasks, v.named)...)...)
}

// splitAgain splits a part that is known to fail, without a test.
func splitAgain(in facts, d run.LandingData) []run.Action {
	v := attribution{several: run.Names(d.Tasks)}
	return splitSuspects(in, d, v, mostLikely(v.several, odds(in, v.several)), nil)
}

// tryMostLikely splits a batch of shards whose brief is unproven, where nothing reports which is wrong: the most likely one is
// tested alone, once. Where it fails too, that is how the others continue.
func tryMostLikely(in facts, d run.LandingData, sorted []string, odds map[string]float64) []run.Action {
	return split(in, d, &run.Search{Named: sorted, Odds: odds}, sorted[:1], sorted[1:])
}

// cannotCheckOut sends a patch back with which no work tree can hold the branch, or a change set; of others each half is tested
// alone.
func cannotCheckOut(in facts, d run.LandingData, f spec.Fault) []run.Action {
	names := slices.Compact(run.Names(d.Tasks))
	if half := len(names) / 2; d.Set == "" && half > 0 {
		return split(in, d, nil, names[:half], names[half:])
	}
	actions := split(in, d, nil)
	for _, id := range names {
		actions = append(actions, sendBack(in, in.tasks.ByID[id], f)...)
	}
	return actions
}

// redSet sends the failures of a set to the tasks that own the files which they name. A failure in a file that no task of the set
// may change parks the set.
func redSet(in facts, d run.LandingData, failed []run.Failure, found []blame.Failure) []run.Action {
	set, f := in.tasks.Sets[d.Set], failed[0].Fault
	of, missing := blame.OfSet(in.proofs, set.Members, failed)
	if missing != nil {
		return park(in, set, missing, of, d.Head, f)
	}
	repeats := func(t *run.Task) bool { return recovery.Repeats(in.spec, in.works, t) }
	// A task that would do the same again is not blamed where each of its failures is blamed on one that would not.
	shared := func(t *run.Task) bool {
		return repeats(t) && !slices.ContainsFunc(of[t.Task.ID], func(signature string) bool {
			return !slices.ContainsFunc(set.Members, func(o *run.Task) bool {
				return !repeats(o) && slices.Contains(of[o.Task.ID], signature)
			})
		})
	}
	blamed, another, files := []*run.Task{}, false, []string{}
	for _, t := range set.Members {
		if files = append(files, t.Changes()...); of[t.Task.ID] != nil && !shared(t) {
			blamed, another = append(blamed, t), another || !repeats(t)
		}
	}
	if forgotten := blame.Forgotten(in.tasks, files, found); forgotten != nil && !another {
		return park(in, set, forgotten, nil, d.Head, f)
	}
	without, rebuilds := map[string]bool{}, false // a command changes the original again and not its own result
	for _, t := range blamed {
		command := in.spec.Made(t, in.works).Executor == spec.ExecutorCommand &&
			t.Choice.At >= len(in.spec.Roles[t.Task.Role].Chain)
		without[t.Task.ID], rebuilds = command, rebuilds || command
	}
	then := func(head string) (actions []run.Action) {
		for _, t := range blamed {
			actions = append(actions, onSet(in, t, failsIn(f, of[t.Task.ID]), head, !without[t.Task.ID])...)
		}
		return actions
	}
	if !rebuilds {
		return then(d.Head)
	}
	m := mergeOfSet(in, in.head, set, without)
	m.Then = func(c Chain) []run.Action {
		for _, k := range c.Conflicts { // it was built on what a command begins without
			without[k.Task] = true
		}
		return then(c.Head)
	}
	return []run.Action{m}
}

// park parks a set for what is missing in it. Its first task has the cause; those that other failures lead to have these, and
// what the others handed in is kept.
func park(
	in facts, set *run.ChangeSet, forgotten *run.Forgotten, of map[string][]string, head string, f spec.Fault,
) (actions []run.Action) {
	reason := "the change set " + set.Name + " " + blame.Words(in.spec, forgotten, "of it may change",
		fmt.Sprintf("Dispatch a task with change_set %s and these files: the set is then tested again", set.Name))
	if forgotten.Only = len(of) == 0; forgotten.Only {
		forgotten.Head = head
	}
	d := run.TaskData{
		State: run.TaskParked, Reason: recovery.WithOutput(reason, recovery.OutputFile(in.spec, f.Output)),
		Forgotten: forgotten,
	}
	for _, t := range set.Members {
		if of[t.Task.ID] != nil {
			own := failsIn(f, of[t.Task.ID])
			d.Fault = &own
		}
		actions = append(actions, run.SetTask(t.Task.ID, d))
		d = run.TaskData{State: run.TaskParked, Reason: fmt.Sprintf("its change set %s was parked with %s", set.Name,
			set.Members[0].Task.ID)}
	}
	return actions
}

// failsIn is what a task of a change set is told of what fails in it.
func failsIn(f spec.Fault, signatures []string) spec.Fault {
	f.Signatures = signatures
	f.Message = "with all tasks of its change set merged, the gates fail in files of this task: " +
		text.Some(signatures, blame.MaxNamed)
	return f
}
