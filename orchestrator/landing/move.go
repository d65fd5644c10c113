package landing

import (
	"cmp"
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/landing/blame"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/round"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// landGreen lets a batch land whose gates let it through, once its commits say what they do not prove: that it is as red as the
// head is known to be, or what is left of what it mends. Where they do not yet, it is merged again.
func landGreen(in facts, d run.LandingData) []run.Action {
	d.Better = proof.Better(in.proofs, d.Receipts)
	var failed []string
	red := slices.DeleteFunc(slices.Clone(d.Receipts), func(r spec.Receipt) bool { return r.Verdict != spec.VerdictFail })
	say := func(l *run.Landed) { l.Better = d.Better }
	switch {
	case len(red) > 0 && slices.ContainsFunc(d.Tasks, func(l run.Landed) bool { return l.Unverified == "" }):
		for _, r := range red {
			failed = append(failed, gate.NewSignatures(r, in.proofs.Before(r))...)
		}
		d.Unverified = text.Clip(text.OneLine("red without it too,"+blame.Culprits(in.tasks, in.batches, in.proofs, red)+": "+
			text.Some(failed, blame.MaxNamed)), text.MaxLine)
		say = func(l *run.Landed) { l.Unverified = cmp.Or(l.Unverified, d.Unverified) }
	case !slices.ContainsFunc(d.Tasks, func(l run.Landed) bool { return l.Better != d.Better }):
		return checkClosed(in, d)
	}
	d.Receipts, d.Tasks = nil, slices.Clone(d.Tasks)
	for i := range d.Tasks {
		say(&d.Tasks[i])
	}
	return drop(in, d)
}

// checkClosed lets a batch land whose gates have passed, or are better, without the patches of a round that have closed none of
// their findings: the others are tested without these.
func checkClosed(in facts, d run.LandingData) []run.Action {
	tasks, after := tasksOf(in, d), map[string]spec.Receipt{}
	for _, r := range d.Receipts {
		after[r.Gate] = r
	}
	idle := round.Idle(tasks, in.proofs.AsOf(0), after)
	if len(idle) == 0 {
		return checkTestsRan(in, d)
	}
	isIdle := func(id string) bool {
		return slices.ContainsFunc(idle, func(t *run.Task) bool { return t.Task.ID == id })
	}
	actions := split(in, d, nil, slices.DeleteFunc(run.Names(d.Tasks), isIdle))
	for _, t := range idle {
		actions = append(actions, sendBack(in, t, spec.Fault{
			Class:   wire.FaultGate,
			Message: fmt.Sprintf("none of its %s is gone", text.Count(len(t.Task.Rule.Findings), "finding")),
		})...)
	}
	return actions
}

// checkTestsRan lets a batch land whose gates have passed, unless tests of the base commit did not run in them, which no patch
// removes or renames. The gates run on the base commit once more before a patch is asked about that. A batch that takes patches
// out brings back the tests that these had ended.
func checkTestsRan(in facts, d run.LandingData) []run.Action {
	tasks := tasksOf(in, d)
	a := proof.Inspect{Receipts: proof.Missing(d.Receipts), Allowed: map[string][]string{}}
	drops := func(t *run.Task) bool { return len(t.Drops) > 0 }
	if a.Back = len(in.batches.Gone) > 0 && slices.ContainsFunc(tasks, drops); a.Back {
		a.Receipts = d.Receipts
	}
	switch {
	case !a.Back && len(a.Receipts) == 0:
		return checkFilesRead(in, d)
	case in.works.RunsAgain():
		return nil
	}
	for _, t := range tasks {
		for _, k := range t.Patches() {
			a.Spans = append(a.Spans, proof.Span{
				Task: t.Task.ID, From: k.Patch.Base, To: k.Patch.Commit, Accepted: t.AcceptedDespiteDoubt(),
			})
		}
		for _, doubt := range t.Without() {
			for gate, tests := range doubt.Missing {
				a.Allowed[gate] = append(a.Allowed[gate], tests)
			}
		}
	}
	a.Then = func(found proof.Inspection) []run.Action {
		if len(found.Doubts) == 0 {
			d.Gone = found.Gone
			return checkFilesRead(in, d)
		}
		if again := proof.OnBaseAgain(in.state); again != nil {
			return again
		}
		return ask(in, d, found.Doubts)
	}
	return []run.Action{a}
}

// checkFilesRead lets a batch land whose tests are all there, unless no gate has read files of it as their kind needs. Tasks with
// such files are held, and the others are tested without them. Where the run or a person allows it they land as unverified.
func checkFilesRead(in facts, d run.LandingData) []run.Action {
	doubts, why := map[string]run.Doubt{}, map[string]string{}
	if inPassage(d) {
		return move(in, d) // the gates read all files of a passage at its end
	}
	for i, t := range tasksOf(in, d) {
		unread := proof.Unread(in.proofs, t, d.Receipts)
		if i == 0 {
			unread = append(unread, unreadBefore(in, d)...)
		}
		switch {
		case len(unread) == 0:
		case !in.spec.AllowsUnread() && !t.AcceptedUnread(unread):
			doubts[t.Task.ID] = run.Doubt{Evidence: proof.UnreadLines(unread), Unread: unread}
		case d.Tasks[i].Unverified == "":
			why[t.Task.ID] = proof.WhyUnread(unread)
		}
	}
	switch {
	case len(doubts) > 0:
		return ask(in, d, doubts)
	case len(why) > 0:
		return markUnread(in, d, why)
	}
	return move(in, d)
}

// inPassage reports whether a gate of a batch is red as a passage allows.
func inPassage(d run.LandingData) bool {
	return slices.ContainsFunc(d.Receipts, func(r spec.Receipt) bool { return r.Verdict == spec.VerdictPassage })
}

// unreadBefore are the unread files of what landed before in the passage that a batch is a part of.
func unreadBefore(in facts, d run.LandingData) (unread []spec.Unread) {
	if in.batches.Passage == nil {
		return nil
	}
	for _, l := range in.batches.Passage.Landed {
		for _, of := range l.Tasks {
			unread = append(unread, proof.Unread(in.proofs, in.tasks.ByID[of.Task], d.Receipts)...)
		}
	}
	return unread
}

// markUnread proposes to make the commits of a batch again, which then say that tasks are unverified and why, and lets them land:
// the tree is the one that was tested.
func markUnread(in facts, d run.LandingData, why map[string]string) []run.Action {
	var m Merge
	if d.Set == "" {
		m = mergeOf(in, d.Old, tasksOf(in, d))
	} else {
		m = mergeOfSet(in, d.Old, in.tasks.Sets[d.Set], nil)
	}
	for i := range m.Candidates {
		c := &m.Candidates[i]
		c.Unverified = cmp.Or(c.Unverified, why[c.Task])
	}
	m.Then = func(c Chain) []run.Action {
		if c.Tree != d.Tree {
			return drop(in, d)
		}
		said := d
		said.Head, said.Tasks = c.Head, slices.Clone(d.Tasks)
		for i := range said.Tasks {
			l := &said.Tasks[i]
			for _, merged := range c.Merged {
				if merged.Task == l.Task {
					l.Commit, l.Unverified = merged.Landed, merged.Unverified
				}
			}
		}
		return append(dropAbove(in, d.Head), move(in, said)...)
	}
	return []run.Action{m}
}

// move advances the integration branch: first the event, which is the truth, then the ref, which follows it.
func move(in facts, d run.LandingData) []run.Action {
	d.State, d.Unverified = run.LandingLanded, proof.Unverified(in.agenda, in.proofs)
	if in.batches.Passage != nil || inPassage(d) {
		d.State = run.LandingLed
	}
	ids := run.Names(d.Tasks)
	if !slices.ContainsFunc(slices.Collect(in.tasks.Open()), func(t *run.Task) bool {
		return t.Part != 0 && !slices.Contains(ids, t.Task.ID)
	}) {
		d.Limit = min(mostTasks, 2*batchLimit(in)) // the culprit is out
	}
	return []run.Action{run.Append{Data: d}, run.SyncHead{}}
}

// Ask puts the tasks of a batch back into the queue, and holds those that are asked about.
func Ask(s *run.State, b *run.Batch, doubts map[string]run.Doubt) []run.Action {
	return ask(factsOf(s), landingOf(b), doubts)
}
