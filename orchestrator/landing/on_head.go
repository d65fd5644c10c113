package landing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// A batch whose gates are red without it too waits firstWait, then about twice as long each time, mostWait in all.
const (
	firstWait = 30 * time.Second
	mostWait  = 2 * time.Minute
)

// Later are actions that wait until a time.
type Later struct {
	run.Proposal

	Until time.Time
	Then  []run.Action
}

// OnHead has the gates that are red with one patch, or a change set, run without it before it is blamed: on the head that it was
// merged onto. What fails there too, and had passed on the same tree, is an outage: the batch waits and is tested again. On a
// head that was never proven in full, the base commit tells an outage from what has landed: that is then known, and no later
// patch's fault. The run comes between the two runs that tell a flake from a failure, so that a red one follows it.
func OnHead(s *run.State) []run.Action {
	for _, b := range s.Batches.Testing {
		if !b.Until.IsZero() {
			return []run.Action{Later{Until: b.Until, Then: again(b, landingOf(b))}}
		}
		if red := unexplained(s, b); len(red) > 0 {
			if actions := onHead(s, b, red); len(actions) > 0 {
				return actions
			}
		}
	}
	return nil
}

func landingOf(b *run.Batch) run.LandingData {
	return run.LandingData{Batch: b.Number, Old: b.Old, Head: b.Head, Tree: b.Tree, Set: b.Set, Mends: b.Mends, Tasks: b.Tasks}
}

// unexplained are the red receipts of a batch that is never cut, but for those that are known; none where it is to be tested
// again anyway, and where a failure gives a line of what it changed.
func unexplained(s *run.State, b *run.Batch) []spec.Receipt {
	in, r := factsOf(s), s.Works.Tested(b)
	if r == nil || b.Old != s.Head || !alone(b.Set, b.Tasks) || !ran(b.Tree, r) {
		return nil
	}
	red := run.ReceiptsOf(in.proofs.Failed(b.Tree, b.Gates, b.Old))
	if len(red) == 0 || flakesAlone(in.proofs, red) {
		return nil
	}
	own := changes(in.tasks, run.Names(b.Tasks))
	if slices.ContainsFunc(failures(in.proofs, red), func(f failure) bool { return len(own.of(f.positions)) > 0 }) {
		return nil
	}
	return slices.DeleteFunc(red, func(r spec.Receipt) bool { return redBefore(in.proofs, r) })
}

// ran reports whether gates left receipts of a tree that tell something of it.
func ran(tree string, r *spec.Result) bool {
	killed := func(r spec.Receipt) bool { return r.Killed }
	return len(r.Receipts) > 0 && provedOn(tree, r.Receipts) && !slices.ContainsFunc(r.Receipts, killed)
}

func onHead(s *run.State, b *run.Batch, red []spec.Receipt) []run.Action {
	newest := s.Works[b.Work].Attempts[b.Attempt].ResultPos
	first := newest
	for _, a := range s.Works[b.Work].Attempts {
		if a.Result != nil && ran(b.Tree, a.Result) {
			first = min(first, a.ResultPos)
		}
	}
	at, also, ask := redToo(s, s.Head, first, red)
	switch {
	case ask || len(also) > 0 && at.Pos < newest && b.Waited < mostWait:
		return testOnHead(s, s.Head, red)
	case len(also) == 0 || at.Pos < newest:
		return nil
	case s.Head == s.Spec.Base || slices.ContainsFunc(also, func(r spec.Receipt) bool {
		return s.Proofs.IsProven(r.Tree, []string{r.Gate}, "")
	}):
		return outage(s, b, also)
	}
	base, onBase, ask := redToo(s, s.Spec.Base, at.Pos, red)
	switch {
	case ask:
		return testOnHead(s, s.Spec.Base, also)
	case len(onBase) > 0:
		return outage(s, b, onBase)
	case base == nil:
		return nil
	}
	d := run.Data{Known: map[string]spec.Receipt{}}
	for _, r := range also {
		d.Notices = append(d.Notices, text.OneLine(fmt.Sprintf("gate %s is red on the integration head,%s; patches with which "+
			"nothing else is red land unverified: %s", r.Gate, culprits(factsOf(s), also),
			text.Some(fresh(&s.Proofs, r), maxMet))))
		r.Paths, r.Imports, r.Positions, r.Follows, r.Errors, r.Names = nil, nil, nil, nil, nil, nil
		d.Known[r.Gate] = r
	}
	return []run.Action{run.SetRun(d)}
}

// redToo returns the newest run of gates without a patch on a commit, behind a position of the log, and its receipts that have
// failures of the patch's. ask is set where they are still to run. The run is nil where it is outstanding, and where it could not
// run.
func redToo(s *run.State, head string, pos uint64, red []spec.Receipt) (a *run.Attempt, also []spec.Receipt, ask bool) {
	runs := s.Works.HeadRuns(head, pos)
	if len(runs) == 0 {
		return nil, nil, true
	}
	a = runs[len(runs)-1]
	switch {
	case a.Result == nil:
		return nil, nil, false
	case !ran(s.TreeOf(head, red[0].Gate), a.Result):
		return nil, nil, len(runs) < recovery.MaxGateTries+s.Works.Foreign(run.HeadTask)
	}
	for _, there := range a.Result.Receipts {
		with := func(r spec.Receipt) bool { return shares(&s.Proofs, r, there) }
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
	there, here := fresh(proofs, without), fresh(proofs, with)
	return len(here)+len(there) == 0 && proofs.KnownRed(with) == nil ||
		slices.ContainsFunc(here, func(signature string) bool { return slices.Contains(there, signature) })
}

// testOnHead assigns the gates of some receipts without a patch, in full.
func testOnHead(s *run.State, head string, red []spec.Receipt) []run.Action {
	d := run.Dispatch{Task: run.HeadTask, Attempt: 1, Role: spec.RoleTester, Head: head}
	for _, r := range red {
		d.Gates = append(d.Gates, r.Gate)
	}
	slices.Sort(d.Gates)
	d.Gates = slices.Compact(d.Gates)
	if w := s.Works[run.HeadTask]; w != nil {
		d.Attempt = w.Last + 1
	}
	return []run.Action{run.AssignGates(d)}
}

// outage has a batch wait, unless it has waited long enough: then what comes out counts.
func outage(s *run.State, b *run.Batch, red []spec.Receipt) []run.Action {
	wait := min(firstWait+b.Waited, mostWait-b.Waited)
	if wait <= 0 {
		return nil
	}
	r := red[0]
	return []run.Action{run.SetRun(run.Data{
		Outage: &run.Outage{Batch: b.Number, Wait: wait},
		Notices: []string{text.OneLine(fmt.Sprintf("gate %s is red without batch %d too, on a commit that it had passed: %s. "+
			"The batch waits %s for what the gate needs, and is tested again",
			r.Gate, b.Number, gate.Reason(r, s.Proofs.Before(r)), wait))},
	})}
}

// redBefore reports whether a gate is red in nothing but what is known of the integration head.
func redBefore(proofs *run.Proofs, r spec.Receipt) bool {
	head := proofs.KnownRed(r)
	if head == nil || !shown(r) || len(fresh(proofs, r)) > 0 {
		return false
	}
	return !slices.ContainsFunc(gate.NewHidden(r, proofs.Before(r)), func(part string) bool {
		return !slices.Contains(head.Hidden, part)
	})
}

// shown reports whether the failures of a gate hide nothing: it can be compared, or each test that ran has failed. A narrowed
// gate may run none that passes.
func shown(r spec.Receipt) bool {
	test := func(signature string) bool { return strings.HasPrefix(signature, "test: ") }
	all := r.Tests > 0 && r.Tests == len(r.Signatures) && len(slices.DeleteFunc(slices.Clone(r.Signatures), test)) == 0
	return gate.Incomparable(r) == "" || all && !r.TimedOut
}

// noRedder are the receipts of gates with which a batch may land: those that passed, and those that are red as the head is known
// to be; nil where one of them is neither.
func noRedder(in facts, d run.LandingData, gates []string) (receipts []spec.Receipt) {
	if len(in.proofs.Known) == 0 || len(provingOf(in, d)) > 0 {
		return nil
	}
	for _, g := range gates {
		failed := run.ReceiptsOf(in.proofs.Failed(d.Tree, []string{g}, d.Old))
		good := in.proofs.Receipts(d.Tree, []string{g}, d.Old)
		redder := slices.ContainsFunc(failed, func(r spec.Receipt) bool { return !redBefore(in.proofs, r) })
		if redder || len(failed)+len(good) == 0 {
			return nil
		}
		receipts = append(receipts, append(good, failed...)[0])
	}
	return receipts
}

// landsWith are the receipts with which a batch may land; false where it may not.
func landsWith(in facts, d run.LandingData, gates []string) ([]spec.Receipt, bool) {
	if in.proofs.IsProven(d.Tree, gates, d.Old) {
		return receiptsOf(in, d, gates)
	}
	red := noRedder(in, d, gates)
	return red, red != nil
}

// redOf are the receipts of a batch that are red.
func redOf(d run.LandingData) []spec.Receipt {
	return slices.DeleteFunc(slices.Clone(d.Receipts), func(r spec.Receipt) bool { return r.Verdict != spec.VerdictFail })
}

// saysRed reports whether the commits of a batch say that it is red, where it is.
func saysRed(d run.LandingData) bool {
	return len(redOf(d)) == 0 || !slices.ContainsFunc(d.Tasks, func(l run.Landed) bool { return l.Unverified == "" })
}

// sayRed has the commits of a batch made anew that is as red as the head is known to be: they say so.
func sayRed(in facts, d run.LandingData) []run.Action {
	red, failed := redOf(d), []string(nil)
	for _, r := range red {
		failed = append(failed, gate.NewSignatures(r, in.proofs.Before(r))...)
	}
	why := text.Clip(text.OneLine("red without it too,"+culprits(in, red)+": "+text.Some(failed, maxMet)), text.MaxLine)
	d.Receipts, d.Unverified, d.Tasks = nil, why, slices.Clone(d.Tasks)
	for i := range d.Tasks {
		d.Tasks[i].Unverified = cmp.Or(d.Tasks[i].Unverified, why)
	}
	return append(dropAbove(in.works, in.batches, d.Head), drop(d))
}

// culprits word which landed tasks failures lead to, all where they lead to none.
func culprits(in facts, red []spec.Receipt) string {
	var landed, led []string
	for _, l := range in.batches.Landed {
		landed = append(landed, run.Names(l.Tasks)...)
	}
	c := changes(in.tasks, landed)
	for _, r := range red {
		for _, signature := range gate.NewSignatures(r, in.proofs.Before(r)) {
			led = append(led, c.owners(failureOf(r, signature))...)
		}
	}
	if len(led) == 0 {
		led = landed
	}
	slices.Sort(led)
	return " because of what has landed (" + strings.Join(text.Few(slices.Compact(led), maxMet), ", ") + ")"
}
