package landing

import (
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// provedOn reports whether all receipts are of one tree.
func provedOn(tree string, receipts []spec.Receipt) bool {
	return !slices.ContainsFunc(receipts, func(r spec.Receipt) bool { return r.Tree != tree })
}

// ran reports whether gates left receipts of a tree that tell something of it.
func ran(tree string, r *spec.Result) bool {
	return len(r.Receipts) > 0 && provedOn(tree, r.Receipts) && !slices.ContainsFunc(r.Receipts, isKilled)
}

func isKilled(r spec.Receipt) bool { return r.Killed }

// verified decides what is green: it returns the receipts with which a batch may land. proven reports that its gates have passed,
// or are no redder than on the head. Those of a change set are of one environment in which all of its tests have failed without
// it: two environments could show a failure and a pass whatever the change does. lands is false where there is no such one.
func verified(in facts, d run.LandingData, gates []string) (receipts []spec.Receipt, proven, lands bool) {
	proving := provingOf(in, d)
	if !in.proofs.IsProven(d.Tree, gates, d.Old) {
		receipts = noRedder(in, d, gates)
		return receipts, receipts != nil, receipts != nil
	} else if len(proving) == 0 {
		return in.proofs.Receipts(d.Tree, gates, d.Old), true, true
	}
	for _, environment := range proving[0].Red.In {
		unproven := func(t *run.Task) bool { return !slices.Contains(t.Red.In, environment) }
		if !slices.ContainsFunc(proving, unproven) {
			if receipts := in.proofs.PassedIn(environment, d.Tree, gates, d.Old); receipts != nil {
				return receipts, true, true
			}
		}
	}
	return nil, true, false
}

// provingOf lists the tasks of a change set whose tests have failed without it.
func provingOf(in facts, d run.LandingData) []*run.Task {
	return slices.DeleteFunc(tasksOf(in, d), func(t *run.Task) bool { return d.Set == "" || !t.ProvedRed() })
}

// noRedder are the receipts of gates with which a batch may land: those that passed, and those that are red as the head is known
// to be; nil where one of them is neither.
func noRedder(in facts, d run.LandingData, gates []string) (receipts []spec.Receipt) {
	if len(in.proofs.Known) == 0 || len(provingOf(in, d)) > 0 {
		return nil
	}
	for _, g := range gates {
		good := in.proofs.Receipts(d.Tree, []string{g}, d.Old)
		for _, f := range in.proofs.Failed(d.Tree, []string{g}, d.Old) {
			if !redBefore(in, f.Receipt) {
				return nil
			}
			good = append(good, f.Receipt)
		}
		if len(good) == 0 {
			return nil
		}
		receipts = append(receipts, good[0])
	}
	return receipts
}

// redBefore reports whether a gate is red in nothing but what is known of the integration head.
func redBefore(in facts, r spec.Receipt) bool {
	head := in.proofs.KnownRed(r)
	if head == nil || !shown(r) || len(recovery.Fresh(in.proofs, r)) > 0 {
		return false
	}
	return !slices.ContainsFunc(gate.NewHidden(r, in.proofs.Before(r)), func(part string) bool {
		return !slices.Contains(head.Hidden, part)
	})
}

// shown reports whether the failures of a gate hide nothing: it can be compared, or each test that ran has failed. A narrowed
// gate may run none that passes.
func shown(r spec.Receipt) bool {
	other := func(signature string) bool { return !strings.HasPrefix(signature, "test: ") }
	all := r.Tests > 0 && r.Tests == len(r.Signatures) && !slices.ContainsFunc(r.Signatures, other)
	return gate.Incomparable(r) == "" || all && !r.TimedOut
}

// alsoRedOn returns the newest run of gates without a patch on a commit, behind a position of the log, and its receipts that have
// failures of the patch's. ask is set where they are still to run. The run is nil where it is outstanding, and where it could not
// run.
func alsoRedOn(in facts, head string, pos uint64, red []spec.Receipt) (a *run.Attempt, also []spec.Receipt, ask bool) {
	runs := in.works.HeadRuns(head, pos)
	if len(runs) == 0 {
		return nil, nil, true
	}
	a = runs[len(runs)-1]
	switch {
	case a.Result == nil:
		return nil, nil, false
	case !ran(in.state.TreeOf(head, red[0].Gate), a.Result):
		return nil, nil, len(runs) < recovery.MaxGateTries+in.works.Foreign(run.HeadTask)
	}
	for _, there := range a.Result.Receipts {
		with := func(r spec.Receipt) bool { return shares(in.proofs, r, there) }
		if there.Verdict == spec.VerdictFail && slices.ContainsFunc(red, with) {
			also = append(also, there)
		}
	}
	return a, also, false
}

// shares reports whether a gate fails without a patch as it does with it, in a part of that at least.
func shares(proofs *run.Proofs, with, without spec.Receipt) bool {
	if with.Gate != without.Gate || with.Environment != without.Environment {
		return false
	}
	there, here := recovery.Fresh(proofs, without), recovery.Fresh(proofs, with)
	return len(here)+len(there) == 0 && proofs.KnownRed(with) == nil ||
		slices.ContainsFunc(here, func(signature string) bool { return slices.Contains(there, signature) })
}
