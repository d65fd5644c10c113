package landing

import (
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Settle decides about the first batch whose gates have ended and that waits for no other. A green one moves the branch. A red
// one is tested in parts; the only task of one goes back when it was red twice. One that is never cut, and is
// built on what is not the head any more, is tested anew at once: what has landed since may change its verdict, whatever that is.
func Settle(s *run.State) []run.Action {
	for _, b := range s.Batches.Testing {
		if r := s.Works.Tested(b); s.Works[run.HeadTask].Outstanding() || !b.Until.IsZero() {
			continue // what comes of that decides whose fault a failure is
		} else if r != nil {
			if actions := settle(s, b, *r); len(actions) > 0 {
				return actions
			}
		} else if b.Old != s.Head && alone(b.Set, b.Tasks) && !isBased(s.Batches.Testing, b) {
			return append(dropAbove(s.Works, &s.Batches, b.Head), dropTested(s.Works, b)...)
		}
	}
	return nil
}

// isBased reports whether a batch is built on another one that is tested.
func isBased(testing []*run.Batch, b *run.Batch) bool {
	return slices.ContainsFunc(testing, func(o *run.Batch) bool { return o.Head == b.Old })
}

func settle(s *run.State, b *run.Batch, r spec.Result) []run.Action {
	in := factsOf(s)
	d := landingOf(b)
	d.Receipts = r.Receipts
	proven := in.proofs.IsProven(b.Tree, b.Gates, b.Old) || noRedder(in, d, b.Gates) != nil
	apart := r.Status == spec.StatusDone && len(in.proofs.Failed(b.Tree, b.Gates, b.Old)) > 0 // red in another environment
	if !provedOn(b.Tree, r.Receipts) || r.Status == spec.StatusDone && !proven && !apart {
		d.Receipts, r.Status = nil, spec.StatusFailed // they prove nothing about the commits that would land
	}
	switch {
	case isBased(in.batches.Testing, b):
		return nil
	case b.Old != s.Head && (alone(b.Set, d.Tasks) || r.Status == spec.StatusDone || proven):
		return []run.Action{drop(d)} // what has landed since may change the verdict
	case proven: // every gate has passed on it, in one run or another
		return settleGreen(s, b, d)
	case slices.ContainsFunc(d.Receipts, func(r spec.Receipt) bool { return r.Killed }) &&
		b.Tries < recovery.MaxGateTries+in.works.Foreign(b.Work):
		return again(b, d)
	case len(d.Receipts) > 0:
		return settleRed(s, b, d)
	case run.FaultOf(&r).Class == wire.FaultTree:
		return unlaid(s, d, run.FaultOf(&r))
	default:
		return notRun(in, s.Epoch, b, d, run.FaultOf(&r))
	}
}

// settleGreen lets a batch land that is proven, or no redder than the head. A change set that has passed
// elsewhere than its tests have failed is dropped.
func settleGreen(s *run.State, b *run.Batch, d run.LandingData) []run.Action {
	in := factsOf(s)
	receipts, same := landsWith(in, d, b.Gates)
	if d.Receipts = receipts; same {
		return landSaying(s, d)
	}
	return append(append(dropAbove(in.works, in.batches, d.Head), drop(d)), redAgain(s, d)...)
}

// provedOn reports whether all receipts are of one tree.
func provedOn(tree string, receipts []spec.Receipt) bool {
	return !slices.ContainsFunc(receipts, func(r spec.Receipt) bool { return r.Tree != tree })
}

// settleRed splits a batch that failed. One that is never cut is tested once more first, unless its failure is known: it may be a
// flake. So is any batch in which only tests failed that are known to be flaky. What failed may not run again, where a gate
// before it does not build this time: the tries have an end.
func settleRed(s *run.State, b *run.Batch, d run.LandingData) []run.Action {
	in := factsOf(s)
	failed := in.proofs.Failed(d.Tree, b.Gates, b.Old)
	receipts := run.ReceiptsOf(failed)
	flake := flakesAlone(in.proofs, receipts) || alone(b.Set, d.Tasks) && !certain(in, d, failed)
	if flake && in.proofs.Runs(d.Tree, b.Gates, b.Old) < maxRuns && b.Tries <= recovery.MaxGateTries+in.works.Foreign(b.Work) {
		return again(b, d)
	}
	return red(s, d, failed)
}

// unlaid sends a patch back with which no work tree can hold the branch, or a change set; of others each half is tested alone.
func unlaid(s *run.State, d run.LandingData, f spec.Fault) []run.Action {
	in, names := factsOf(s), slices.Compact(run.Names(d.Tasks))
	if half := len(names) / 2; d.Set == "" && half > 0 {
		return split(in.works, in.batches, d, [][]string{names[:half], names[half:]}, nil)
	}
	actions := split(in.works, in.batches, d, nil, nil)
	for _, id := range names {
		actions = append(actions, recovery.Failed(s, in.tasks.ByID[id], f)...)
	}
	return actions
}

// notRun tests a batch again whose gates could not be run. In the end that is the run's fault and no task's: it stops, and a
// resumed run tries again. A baseline of another environment is made again first.
func notRun(in facts, epoch int, b *run.Batch, d run.LandingData, f spec.Fault) []run.Action {
	if in.proofs.Outdated {
		return nil
	}
	a := in.works[b.Work].Attempts[b.Attempt]
	if b.Tries > recovery.MaxGateTries+in.works.Foreign(b.Work) && a.Epoch == epoch {
		return []run.Action{run.Fail{Err: fmt.Errorf("the gates of batch %d could not be run: %s", b.Number, f.Message)}}
	}
	return again(b, d)
}

// again tests a batch once more.
func again(b *run.Batch, d run.LandingData) []run.Action {
	d.State = run.LandingRed
	return []run.Action{run.Append{Data: d}, test(d, b.Gates, b.Attempt+1)}
}

// drop puts the tasks of a batch back into the queue as they were.
func drop(d run.LandingData) run.Action {
	d.State = run.LandingDropped
	return run.Append{Data: d}
}

// red splits a batch whose tree has failed, and drops those that are built on it. The only task of a batch goes back.
func red(s *run.State, d run.LandingData, failed []run.Failure) []run.Action {
	in := factsOf(s)
	receipts := run.ReceiptsOf(failed)
	if d.Set != "" {
		return append(split(in.works, in.batches, d, nil, nil), redSet(s, d, failed, receipts)...)
	}
	if len(d.Tasks) > 1 {
		return judge(s, d, failed, receipts)
	}
	t := in.tasks.ByID[d.Tasks[0].Task]
	f := recovery.Red(in.proofs, failed)
	found := failures(in.proofs, receipts)
	if forgotten(in.tasks, t.Changes(), found) == nil { // else it is known what it is red with
		f.Message = together(in, t, receipts) + f.Message
	}
	right := refuted(in.tasks, in.proofs, d)
	if untried(in.tasks, in.templates, append(run.Names(d.Tasks), right...)) {
		right = nil // they may be as wrong
	}
	return append(split(in.works, in.batches, d, [][]string{right}, &run.Search{Right: right}),
		goBack(s, t, f, found)...)
}

// split puts the tasks of a batch back, in parts.
func split(works run.Works, batches *run.Batches, d run.LandingData, parts [][]string, search *run.Search) []run.Action {
	d.State, d.Search = run.LandingSplit, search
	d.Parts = slices.DeleteFunc(parts, func(part []string) bool { return len(part) == 0 })
	return append(dropAbove(works, batches, d.Head), run.Append{Data: d})
}

// dropAbove drops the batches that are built on a commit, the newest first.
func dropAbove(works run.Works, batches *run.Batches, commit string) []run.Action {
	var actions []run.Action
	for _, b := range batches.Testing {
		if b.Old == commit {
			actions = append(actions, dropAbove(works, batches, b.Head)...)
			actions = append(actions, dropTested(works, b)...)
		}
	}
	return actions
}

// dropTested drops a batch, and takes its gates off the queue.
func dropTested(works run.Works, b *run.Batch) []run.Action {
	actions := []run.Action{drop(landingOf(b))}
	if works.Tested(b) == nil {
		actions = append(actions, run.TakeBack{Work: works[b.Work]}, run.Tell{Work: b.Work})
	}
	return actions
}
