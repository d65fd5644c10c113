package landing

import (
	"fmt"
	"slices"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/landing/blame"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// A batch whose gates are red without it too waits firstWait, then about twice as long each time, mostWait in all.
const (
	firstWait = 30 * time.Second
	mostWait  = 2 * time.Minute
)

// prove proposes the gates that the changes of a merged chain start, or their verdict alone where it is known without them.
func prove(in facts, d run.LandingData, changed []string) []run.Action {
	if slices.ContainsFunc(in.batches.Testing, func(b *run.Batch) bool { return b.Tree == d.Tree }) {
		return nil // it is being tested
	}
	d.Mends = mendsOf(tasksOf(in, d))
	d.Through = throughOf(in, tasksOf(in, d), d.Mends)
	gates := gatesOf(in, tasksOf(in, d), changed, d.Through...)
	if actions, known := knownVerdict(in, d, gates); known {
		return actions
	}
	return []run.Action{test(d, gates, 1)}
}

// Settle decides about the first batch whose gates have ended and that waits for no other. A green one moves the branch. A red
// one is tested in parts; the only task of one goes back when it was red twice. One that is never split, and is
// built on what is not the head any more, is tested anew at once: what has landed since may change its verdict, whatever that is.
func Settle(s *run.State) []run.Action {
	in := factsOf(s)
	for _, b := range in.batches.Testing {
		dependsOnTested := slices.ContainsFunc(in.batches.Testing, func(o *run.Batch) bool { return o.Head == b.Old })
		if dependsOnTested || in.works[run.HeadTask].Outstanding() || !b.Until.IsZero() {
			continue // what comes of that decides whose fault a failure is
		}
		d := landingOf(b)
		if r := in.works.Tested(b); r != nil {
			if actions := decideBatch(in, b, d, *r); len(actions) > 0 {
				return actions
			}
		} else if b.Old != in.head && isAlone(d) {
			return dropTested(in, b)
		}
	}
	return nil
}

// runRed proposes to run the gates on a task's tests alone, unless they did.
func runRed(in facts, t *run.Task, red run.Red, head string) []run.Action {
	first, gates := in.proofs.Reference(), redGates(in, t)
	passed := in.proofs.PassedIn(first, red.Tree, gates, red.Since) != nil
	if (passed || len(in.proofs.FailedIn(first, red.Tree, gates, red.Since)) > 0) && !slices.Contains(red.In, first) {
		return decideRed(in, t, red, first)
	}
	return testRed(in, t, red, head)
}

func testRed(in facts, t *run.Task, red run.Red, head string) []run.Action {
	d := &run.Dispatch{
		Task: t.Task.ID + run.RedSuffix, Attempt: in.works.Next(t.Task.ID + run.RedSuffix), Role: spec.RoleTester, Head: head,
		Gates: redGates(in, t), Since: red.Since, InFirst: true,
	}
	red.Run = d.Attempt
	data := run.TaskData{State: run.TaskAccepted, Red: &red, Dispatch: d}
	return []run.Action{run.Assign{Append: run.Append{Task: t.Task.ID, Data: data}, Dispatch: d}}
}

// ranRed decides when the gates have run. Those that could not be run are tried again; in the end that is the run's fault.
func ranRed(in facts, t *run.Task, red run.Red) []run.Action {
	w := in.works[t.Task.ID+run.RedSuffix]
	a := w.Attempts[red.Run]
	proves := func(a *run.Attempt) bool {
		return a.Result != nil && len(a.Result.Receipts) > 0 && provedOn(red.Tree, a.Result.Receipts)
	}
	fruitless := 0 // the newest runs of the same tests, in a row, that left no receipts: a resumed run tries again
	for o := a; o != nil && o.Head == a.Head && o.Epoch == in.epoch && !proves(o); o = w.Attempts[red.Run-fruitless] {
		fruitless++
	}
	switch {
	case a.Result == nil:
		return nil
	case proves(a):
		return decideRed(in, t, red, a.Result.Receipts[0].Environment)
	case fruitless >= recovery.MaxGateTries+in.works.Foreign(w.ID):
		return []run.Action{run.Fail{
			Err: fmt.Errorf("the gates of the tests of %s could not be run: %s", t.Task.ID, run.FaultOf(a.Result).Message),
		}}
	default:
		return testRed(in, t, red, a.Head)
	}
}

// Later are actions that wait until a time.
type Later struct {
	run.Proposal

	// Until is the time. The conductor waits (its waiter): it executes Then at that time, and its other rules continue.
	Until time.Time
	Then  []run.Action
}

// RetestWithout proposes to run the gates that are red with one patch, or a change set, without it before it is blamed: on the
// head that it was merged onto. What fails there too, and had passed on the same tree, is an outage: the batch waits and is
// tested again. On a head that was never proven in full, the base commit tells an outage from what has landed: that is then
// known, and no later patch's fault. The run comes between the two runs that tell a flake from a failure, so that a red one
// follows it.
func RetestWithout(s *run.State) []run.Action {
	in := factsOf(s)
	for _, b := range in.batches.Testing {
		if !b.Until.IsZero() {
			return []run.Action{Later{Until: b.Until, Then: retest(b, landingOf(b))}}
		}
		if red := unexplained(in, b); len(red) > 0 {
			if actions := retestWithout(in, b, red); len(actions) > 0 {
				return actions
			}
		}
	}
	return nil
}

// unexplained are the red receipts of a batch that is never split, but for those that are known; none where it is to be tested
// again anyway, and where a failure gives a line of what it changed.
func unexplained(in facts, b *run.Batch) (red []spec.Receipt) {
	r := in.works.Tested(b)
	if r == nil || b.Old != in.head || !isAlone(landingOf(b)) || !ran(b.Tree, r) {
		return nil
	}
	failed := in.proofs.Failed(b.Tree, b.Gates, b.Old)
	own := blame.Changes(in.tasks, run.Names(b.Tasks))
	if blame.FlakesAlone(in.proofs, failed) || slices.ContainsFunc(blame.Failures(in.proofs, failed), own.Positioned) {
		return nil
	}
	for _, f := range failed {
		if !redBefore(in, f.Receipt) {
			red = append(red, f.Receipt)
		}
	}
	return red
}

// retestWithout compares a batch whose gates are red with the head, and then with the base commit.
func retestWithout(in facts, b *run.Batch, red []spec.Receipt) []run.Action {
	newest := in.works[b.Work].Attempts[b.Attempt].ResultPos
	first := newest
	for _, a := range in.works[b.Work].Attempts {
		if a.Result != nil && ran(b.Tree, a.Result) {
			first = min(first, a.ResultPos)
		}
	}
	at, also, ask := alsoRedOn(in, in.head, first, red)
	switch {
	case ask || len(also) > 0 && at.Pos < newest && b.Waited < mostWait:
		return testOnHead(in, in.head, red)
	case len(also) == 0 || at.Pos < newest:
		return nil
	case in.head == in.spec.Base || slices.ContainsFunc(also, func(r spec.Receipt) bool {
		return in.proofs.IsProven(r.Tree, []string{r.Gate}, "")
	}):
		return outage(in, b, also)
	}
	base, onBase, ask := alsoRedOn(in, in.spec.Base, at.Pos, red)
	switch {
	case ask:
		return testOnHead(in, in.spec.Base, also)
	case len(onBase) > 0:
		return outage(in, b, onBase)
	case base == nil:
		return nil
	}
	d := run.Data{Known: map[string]spec.Receipt{}}
	for _, r := range also {
		d.Notices = append(d.Notices, text.OneLine(fmt.Sprintf("gate %s is red on the integration head,%s; patches with which "+
			"nothing else is red land unverified: %s", r.Gate, blame.Culprits(in.tasks, in.batches, in.proofs, also),
			text.Some(recovery.Fresh(in.proofs, r), blame.MaxNamed))))
		r.Paths, r.Imports, r.Positions, r.Follows, r.Errors, r.Names = nil, nil, nil, nil, nil, nil
		d.Known[r.Gate] = r
	}
	return []run.Action{run.SetRun(d)}
}

// testOnHead assigns the gates of some receipts without a patch, in full.
func testOnHead(in facts, head string, red []spec.Receipt) []run.Action {
	d := run.Dispatch{Task: run.HeadTask, Head: head}
	for _, r := range red {
		d.Gates = append(d.Gates, r.Gate)
	}
	slices.Sort(d.Gates)
	d.Gates = slices.Compact(d.Gates)
	return in.works.AssignGates(d)
}

// outage proposes that a batch waits, unless it has waited long enough: then what comes out counts.
func outage(in facts, b *run.Batch, red []spec.Receipt) []run.Action {
	wait := min(firstWait+b.Waited, mostWait-b.Waited)
	if wait <= 0 {
		return nil
	}
	r := red[0]
	return []run.Action{run.SetRun(run.Data{
		Outage: &run.Outage{Batch: b.Number, Wait: wait},
		Notices: []string{text.OneLine(fmt.Sprintf("gate %s is red without batch %d too, on a commit that it had passed: %s. "+
			"The batch waits %s for a service of the gate, and is tested again",
			r.Gate, b.Number, gate.Reason(r, in.proofs.Before(r)), wait))},
	})}
}
