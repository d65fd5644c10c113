package run

import (
	"time"
)

// Wait is what a run waits for a person to do, and for how long it has waited so far: that time is not the run's.
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
