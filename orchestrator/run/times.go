package run

import (
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
)

// Activity is a kind of work that takes a run's time.
type Activity int

// The activities. Whatever an attempt does besides is waiting: for a permit, a core, a quota, or others.
const (
	Models Activity = iota // a model answers
	Slots                  // a work tree is made or reset
	Tools                  // the commands and tools of agents
	Gates                  // setup, baseline, batches and final gates
	Activities
)

// What is no activity of its own: an agent waits for others that it asked, or for a quota.
const (
	Asks = Activities + iota
	Quota
)

// Times holds the durations of a run's finished activities. Spans are on the run's clock: since its creation, without the time in
// which no process held it.
type Times struct {
	created time.Time
	// Sums add up what ran at the same time; Waited is the rest of the attempts that have ended, from their dispatch on.
	Sums   [Activities]time.Duration
	Waited time.Duration
	// Down is the time in which no process held the run.
	Down time.Duration
	// Entered is when the run was in a status for the first time, Moved when the newest task landed or was done.
	Entered map[Status]time.Duration
	Moved   time.Duration
	// Own holds the measurements of the conductor's own work, oldest first. Persons is when the run waited for a person.
	Own     []OwnAt
	Persons []Span
	waits   bool
}

// Span is a stretch of time that something took.
type Span struct {
	What     Activity
	From, To time.Duration
}

// OwnAt is the conductor's own work until a time, since its event before.
type OwnAt struct {
	At time.Duration
	Own
}

// Clock is a time on the run's clock.
func (t *Times) Clock(at time.Time) time.Duration { return at.Sub(t.created) - t.Down }

// spend notes that an attempt did something from one time to another.
func (t *Times) spend(a *Attempt, what Activity, from, to time.Duration) {
	if from >= to {
		return
	}
	a.busy += to - from
	t.Sums[what] += to - from
	a.Spans = append(a.Spans, Span{what, from - t.Down, to - t.Down})
}

// waits notes until when a call of an agent's model waits for a quota.
func (a *Attempt) waits(w *spec.Wait, now, until time.Duration) {
	if (w.For == spec.WaitQuota || w.For == spec.WaitLimit) && until > now {
		a.Spans = append(a.Spans, Span{Quota, now, until})
	}
}

// asks notes that an agent waits for others from now on.
func (t *Times) asks(a *Attempt, now time.Duration) {
	if a.asked == 0 {
		t.tools(a, now)
		a.asked = now
	}
}

// own notes what the conductor did itself.
func (t *Times) own(at time.Duration, o Own) {
	if o != (Own{}) {
		t.Own = append(t.Own, OwnAt{at, o})
	}
}

// person notes whether the run waits for a person.
func (t *Times) person(waits bool, now time.Duration) {
	if n := len(t.Persons); t.waits && n > 0 {
		t.Persons[n-1].To = now
	}
	if waits && !t.waits {
		t.Persons = append(t.Persons, Span{From: now, To: now})
	}
	t.waits = waits
}

// tools notes that the calls of an attempt's newest turn have ended, or wait for others from now on.
func (t *Times) tools(a *Attempt, now time.Duration) {
	if a.turned > 0 {
		t.spend(a, Tools, a.turned, now)
	}
	if a.asked > 0 {
		a.Spans = append(a.Spans, Span{Asks, a.asked - t.Down, now - t.Down})
	}
	a.turned, a.asked = 0, 0
}

// end notes what an attempt's result tells: how long its slot took, and what it did in it without a model.
func (t *Times) end(a *Attempt, task string, created time.Time, r spec.Result, now time.Duration) {
	if a.Began > 0 {
		slot := time.UnixMilli(a.Began).Sub(created) + r.Queued
		t.spend(a, Slots, slot, slot+r.Slot)
		switch {
		case task != SetupTask && task != BaselineTask && len(r.Receipts) > 0:
			var took time.Duration
			for _, gate := range r.Receipts {
				took += gate.Duration
			}
			t.spend(a, Gates, max(slot+r.Slot, now-took), now)
		case strings.HasPrefix(task, "--"):
			t.spend(a, Gates, slot+r.Slot, now)
		case a.Turns == 0:
			t.spend(a, Tools, slot+r.Slot, now-r.Git)
		}
	}
	if a.Dispatched > 0 {
		t.Waited += max(0, now-time.UnixMilli(a.Dispatched).Sub(created)-(t.Down-a.down)-a.busy)
	}
}

// Wait describes the person's task that a run waits for, and the time waited so far: that time is not the run's.
type Wait struct {
	// For is empty while the run waits for nothing.
	For   string
	since time.Time
	total time.Duration
}

// Set begins a wait, or ends it where the text is empty.
func (w *Wait) Set(what string, at time.Time) {
	if w.For != "" && at.After(w.since) {
		w.total += at.Sub(w.since)
	}
	w.For, w.since = what, at
}

// Until returns how long the run had waited at a time.
func (w *Wait) Until(at time.Time) time.Duration {
	if w.For != "" && at.After(w.since) {
		return w.total + at.Sub(w.since)
	}
	return w.total
}

// Quotas are the newest quotas that were used up, by model and account; one whose time has come is free again.
type Quotas map[string]spec.Wait

// Told lists the newest limits and quotas of the log: a new conductor tells workers of them as the one before did.
func (s *State) Told() []spec.Wait {
	return slices.Concat(slices.Collect(maps.Values(s.Limits)), slices.Collect(maps.Values(s.Quotas)))
}

// UsedUp are the quotas that are used up at a time, by model.
func (q Quotas) UsedUp(now time.Time) []spec.Wait {
	var list []spec.Wait
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if w := q[name]; w.Until.After(now) {
			list = append(list, w)
		}
	}
	return list
}

// AwaitQuota reports whether agents are at work and, by the newest event, each of them waits for a quota.
func (s *State) AwaitQuota() bool {
	now, at := s.Times.Clock(s.Time), 0
	for _, w := range s.Queue {
		if !w.Outstanding() || w.Waits() || strings.HasPrefix(w.ID, "--") {
			continue
		}
		spans := w.Newest().Spans
		if n := len(spans); n == 0 || spans[n-1].What != Quota || spans[n-1].To <= now {
			return false
		}
		at++
	}
	return at > 0
}
