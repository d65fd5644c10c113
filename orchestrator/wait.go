package orchestrator

import (
	"context"
	"time"

	"divisi/contextscope"
)

// Wait is what a run waits for a person to do, and for how long it has waited so far: that time is not the run's.
type Wait struct {
	// For is empty while the run waits for nothing.
	For   string
	since time.Time
	total time.Duration
}

// Set begins a wait, or ends it where what is empty.
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

// waitsFor returns what only a person can bring, once nothing else is active; empty while work goes on.
func (s *State) waitsFor() string {
	active, _ := s.AtWork()
	switch {
	case active > 0 || s.Run != RunPlanning && s.Run != RunRunning:
		return ""
	case s.untaken() >= 0:
		return "approval of the plan"
	}
	if open := s.Questions(); len(open) > 0 {
		return "an answer to " + open[0].Agent() + ": " + line(open[0].Question)
	}
	return ""
}

// announceWait writes down when the run begins to wait for a person, and when it ends.
func (c *Conductor) announceWait(ctx context.Context) (bool, error) {
	what := c.st.waitsFor()
	if what == c.st.Wait.For {
		return false, nil
	}
	return true, c.append(ctx, contextscope.KindRun, "", RunData{Wait: &what})
}
