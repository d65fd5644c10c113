package landing

import (
	"slices"

	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// landRead lets a batch land whose tests are all there, unless no gate has read files of it as their kind needs. Tasks with
// such files are held, and the others are tested without them. Where the run or a person allows it they land as unverified.
func landRead(s *run.State, d run.LandingData) []run.Action {
	in, doubts, why := factsOf(s), map[string]run.Doubt{}, map[string]string{}
	for _, l := range d.Tasks {
		t := in.tasks.ByID[l.Task]
		unread := proof.Unread(s, t, d.Receipts)
		switch {
		case len(unread) == 0:
		case !in.spec.AllowsUnread() && !t.AcceptedUnread(unread):
			doubts[l.Task] = run.Doubt{Evidence: proof.UnreadLines(unread), Unread: unread}
		case l.Unverified == "":
			why[l.Task] = proof.WhyUnread(unread)
		}
	}
	switch {
	case len(doubts) > 0:
		return question(in, d, doubts)
	case len(why) > 0:
		return sayUnread(s, d, why)
	}
	return move(s, d)
}

// sayUnread has the commits of a batch made anew, which then say that tasks are unverified and why, and lets them land: the tree
// is the one that was tested.
func sayUnread(s *run.State, d run.LandingData, why map[string]string) []run.Action {
	in := factsOf(s)
	m := Merge{Head: s.Head, Onto: d.Old}
	if d.Set != "" {
		m = mergeOf(s, d.Old, in.tasks.Sets[d.Set], nil)
	} else {
		for _, l := range d.Tasks {
			m.Candidates = append(m.Candidates, candidate(s, in.tasks.ByID[l.Task]))
		}
	}
	for i := range m.Candidates {
		if c := &m.Candidates[i]; c.Unverified == "" {
			c.Unverified = why[c.Task]
		}
	}
	m.Then = func(c Chain) []run.Action {
		above := dropAbove(in.works, in.batches, d.Head)
		if c.Tree != d.Tree {
			return append(above, drop(d))
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
		return append(above, move(s, said)...)
	}
	return []run.Action{m}
}
