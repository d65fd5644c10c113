package run

import (
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
)

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
