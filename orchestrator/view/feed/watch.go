package feed

import (
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// The events of notices.
const (
	NoticeDecision = "decision" // a person has to decide
	NoticeAlarm    = "alarm"    // nothing has landed for StallAfter
	NoticeEnd      = "end"      // the run has ended, or was stopped
)

// StallAfter is how long nothing lands in a run that has work before that is an alarm.
const StallAfter = 15 * time.Minute

// Notice is shown to a person at once.
type Notice struct {
	Run, Event, Text string
	// Decision is the id of the decision; empty for all other events.
	Decision string
	// State is the state of the run, Landed and Tasks how many tasks have landed, of how many.
	State         string
	Landed, Tasks int
}

// Watch finds the notices of a run. What was over before it began, as in the replay of a log, is none.
type Watch struct {
	began time.Time
	told  map[string]bool
	// moved is when something has landed, or work has begun; alarmed is set until it does again.
	moved   time.Time
	landed  int
	alarmed bool
}

// NewWatch begins to watch at a time.
func NewWatch(now time.Time) Watch { return Watch{began: now, told: map[string]bool{}, moved: now} }

// Look returns the notices that there are since the last time.
func (w *Watch) Look(v *Followed, now time.Time) (out []Notice) {
	n := Notice{Run: v.Run, State: view.Status(v.State), Landed: len(v.landed), Tasks: len(v.Tasks.Order)}
	add := func(event, decision, text string) {
		one := n
		one.Event, one.Decision, one.Text = event, decision, text
		out = append(out, one)
	}
	for _, wait := range Waits(v.State, now) {
		if wait.Decision != "" && !w.told[wait.Decision] {
			w.told[wait.Decision] = true
			add(NoticeDecision, wait.Decision, "waiting for "+wait.Text)
		}
	}
	if w.stalls(v, now) {
		add(NoticeAlarm, "", "nothing has landed for "+text.Span(StallAfter))
	}
	if ended := v.Status.Ended(); ended != w.told[NoticeEnd] {
		w.told[NoticeEnd] = ended
		if ended && !v.Ended.Before(w.began) {
			add(NoticeEnd, "", "run is "+string(v.Status)+text.Because(v.Reason))
		}
	}
	return out
}

// stalls reports once that nothing has landed for long in a run that has work and waits for no person.
func (w *Watch) stalls(v *Followed, now time.Time) bool {
	if len(v.landed) != w.landed || v.Status != run.Running || v.Wait.For != "" || v.Tasks.AllEnded() {
		w.landed, w.moved, w.alarmed = len(v.landed), now, false
	}
	if w.alarmed || now.Sub(w.moved) < StallAfter {
		return false
	}
	w.alarmed = true
	return true
}
