// Package pull has the rules about the pull requests of a run: which tasks go together, what is stacked on what, when the next
// may be opened. Its input are parts of the run's state and what a forge answered, its output what to write
// next. It reads no clock and asks no forge; the requests themselves are folded by run.
package pull

import (
	"slices"
	"time"

	"divisi/orchestrator/run"
)

// Pace bounds how many pull requests of a run are open, and are opened in an hour; 0 is no bound.
type Pace struct{ MaxOpen, PerHour int }

// Window is the span that a pace counts in: the hour of a forge, whose clock is another one.
const Window = time.Hour + 5*time.Second

// Next is when another pull request may be opened, not after now for at once; full reports that as many are open as may be: it
// waits until one of them has ended.
func (p Pace) Next(pulls run.Pulls, now time.Time) (at time.Time, full bool) {
	open, recent := 0, []time.Time{}
	for _, pull := range pulls.List() {
		if pull.State == run.PullStateOpen {
			open++
		}
		if pull.Asked.After(now.Add(-Window)) {
			recent = append(recent, pull.Asked)
		}
	}
	slices.SortFunc(recent, time.Time.Compare)
	if p.PerHour > 0 && len(recent) >= p.PerHour {
		at = recent[len(recent)-p.PerHour].Add(Window)
	}
	return at, p.MaxOpen > 0 && open >= p.MaxOpen
}
