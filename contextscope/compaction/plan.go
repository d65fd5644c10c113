package compaction

import (
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/internal/spec"
)

// minSnapshot is the least that a snapshot costs, in estimated tokens: a range must be worth more.
const minSnapshot = 128

// PlanInput is the input of a compaction plan, beside the session.
type PlanInput struct {
	// Rules have their defaults applied.
	Rules spec.CompactionRules
	// Trigger is why: contextscope.TriggerShare, contextscope.TriggerLimit or contextscope.TriggerTooLong.
	Trigger string
	Facts   Facts
}

// Plan chooses the range of the session that a snapshot is to stand for; events are the whole session, earlier
// compactions among them. The newest Keep share of what is still shown stays, and the newest turn always does. The range
// ends before a user's message where one stands near, else between two turns; never between a call and its result. It is
// false when a snapshot would gain nothing.
func Plan(events []contextscope.Event, in PlanInput) (Job, bool) {
	l := openLedger(events)
	for _, cut := range l.candidates(in.Rules.Keep) {
		if job, ok := l.job(cut, in); ok {
			return job, true
		}
	}
	return Job{}, false
}

// candidates are the places where the range may end, best first. When the best ones hold too little to be worth it, more than
// the share has to go.
func (l *ledger) candidates(keep float64) []int {
	cuts := slices.Clone(l.cuts[l.firstCut():])
	total := float64(l.total())
	kept := func(cut int) float64 { return float64(l.costOf(cut, len(l.events))) }
	// within counts the cuts that leave at least the share.
	within := 0
	for within < len(cuts) && kept(cuts[within]) >= keep*total {
		within++
	}
	var best []int
	for _, cut := range slices.Backward(cuts[:within]) {
		if l.events[cut].Kind == contextscope.KindUser && kept(cut) <= (1+keep)/2*total {
			best = append(best, cut)
			break
		}
	}
	return append(best, cuts[max(0, within-1):]...)
}

// firstCut is the first cut that has something still shown before it.
func (l *ledger) firstCut() int {
	for i, cut := range l.cuts {
		if l.costOf(0, cut) > 0 {
			return i
		}
	}
	return len(l.cuts)
}

// job is the compaction of everything before a place.
func (l *ledger) job(cut int, in PlanInput) (Job, bool) {
	live := l.Floor
	if l.turns(live, cut) < 2 {
		return Job{}, false
	}
	to := l.events[cut-1].Seq
	from, overlap := l.from(in.Rules.Overlap)
	ev := gather(l.events, to)
	j := Job{
		Trigger: in.Trigger, From: l.events[from].Seq, To: to, Turns: l.turns(from, cut), Overlap: overlap,
		Pinned: in.Facts.pinned(ev), events: l.events[from:cut], brief: l.brief(),
	}
	if l.Written != "" {
		j.previous = withoutPinned(l.Written)
	}
	j.Before = l.costOf(live, cut) + content.TokensOf(len(l.Snapshot))
	for _, c := range ev.changed {
		if name := narrative.Elide(c.path); c.seq >= j.From && !slices.Contains(j.paths, name) {
			j.paths = append(j.paths, name)
		}
	}
	for _, r := range ev.red {
		if r.seq >= j.From {
			j.red = append(j.red, narrative.Elide(r.name))
		}
	}
	least := Snapshot{Pinned: j.Pinned}.tokens() + max(minSnapshot, len(j.previous)/4)
	return j, j.Before > least
}

// from is where a range begins: so many turns before the end of the last one that a model has read, and how many they are.
func (l *ledger) from(overlap int) (place, turns int) {
	next := l.Read
	place = next
	for _, cut := range slices.Backward(l.cuts) {
		if cut < next && turns < overlap {
			place, turns = cut, l.turns(cut, next)
		}
	}
	for place < len(l.events) && !conversed(l.events[place]) {
		place++
	}
	return place, turns
}

// brief is the newest brief, or nil.
func (l *ledger) brief() *contextscope.Event {
	for _, e := range slices.Backward(l.events) {
		if e.Kind == contextscope.KindBrief {
			return &e
		}
	}
	return nil
}

// withoutPinned is a stored snapshot without its facts, which are gathered again. One that cannot be read stays as it is.
func withoutPinned(stored string) string {
	s, err := ReadSnapshot(stored)
	if err != nil {
		return stored
	}
	s.Pinned = nil
	return s.Render()
}
