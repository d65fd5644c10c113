package run

import (
	"slices"
	"sort"
	"strings"
	"time"

	"divisi/internal/spec"
)

// Activity is what a run spends time on.
type Activity int

// The activities. Whatever an attempt does besides is waiting: for a permit, a core, a quota, or others.
const (
	Models Activity = iota // a model answers
	Slots                  // a work tree is made or reset
	Tools                  // the commands and tools of agents
	Gates                  // setup, baseline, batches and final gates
	Activities
)

// Times are what a run's activities took, of those that have ended. Their times are counted from the run's creation.
type Times struct {
	// Sums add up what ran at the same time; Waited is the rest of the attempts that have ended, from their dispatch on.
	Sums   [Activities]time.Duration
	Waited time.Duration
	// Down is the time in which no process held the run.
	Down  time.Duration
	spans [Activities]spans
	all   spans
}

// Wall is the wall clock in which at least one of an activity ran.
func (t *Times) Wall(a Activity) time.Duration { return t.spans[a].length() }

// Busy is the wall clock in which any activity ran.
func (t *Times) Busy() time.Duration { return t.all.length() }

// spend notes that an attempt did something from one time to another.
func (t *Times) spend(a *Attempt, what Activity, from, to time.Duration) {
	if from >= to {
		return
	}
	a.busy += to - from
	t.Sums[what] += to - from
	t.spans[what] = t.spans[what].add(span{from, to})
	t.all = t.all.add(span{from, to})
}

// At are the times of a run that goes on, with the setup and gates that run at that time.
func (t *Times) At(now, created time.Time, queue Queue) Times {
	at := *t
	for a := range at.spans {
		at.spans[a] = slices.Clone(at.spans[a])
	}
	at.all = slices.Clone(at.all)
	for id, w := range queue {
		a := *w.Attempts[w.Last] // a copy: nothing of the work is to change
		if strings.HasPrefix(id, "--") && w.Outstanding() && a.Began > 0 {
			at.spend(&a, Gates, time.UnixMilli(a.Began).Sub(created), now.Sub(created))
		}
	}
	return at
}

// tools notes that the calls of an attempt's newest turn have ended, or wait for others from now on.
func (t *Times) tools(a *Attempt, now time.Duration) {
	if a.turned > 0 {
		t.spend(a, Tools, a.turned, now)
	}
	a.turned = 0
}

// end notes what an attempt's result tells: how long its slot took, and what it did in it without a model.
func (t *Times) end(a *Attempt, task string, created time.Time, r spec.Result, now time.Duration) {
	if a.Began > 0 {
		slot := time.UnixMilli(a.Began).Sub(created) + r.Queued
		t.spend(a, Slots, slot, slot+r.Slot)
		switch {
		case strings.HasPrefix(task, "--"), len(r.Receipts) > 0:
			t.spend(a, Gates, slot+r.Slot, now)
		case a.Turns == 0:
			t.spend(a, Tools, slot+r.Slot, now)
		}
	}
	if a.Dispatched > 0 {
		t.Waited += max(0, now-time.UnixMilli(a.Dispatched).Sub(created)-(t.Down-a.down)-a.busy)
	}
}

// span is a stretch of time.
type span struct{ from, to time.Duration }

// spans are stretches of time that do not meet, in their order.
type spans []span

// add joins a stretch with those that it meets.
func (list spans) add(s span) spans {
	first := sort.Search(len(list), func(i int) bool { return list[i].to >= s.from })
	last := first
	for ; last < len(list) && list[last].from <= s.to; last++ {
		s.from, s.to = min(s.from, list[last].from), max(s.to, list[last].to)
	}
	return slices.Replace(list, first, last, s)
}

func (list spans) length() (sum time.Duration) {
	for _, s := range list {
		sum += s.to - s.from
	}
	return sum
}
