package console

import (
	"cmp"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

const (
	// maxLines is how many lines the live part has at most.
	maxLines = 5
	// paceOver is the time over which landings are counted, and leastEnds how many ends an estimate of the rest needs.
	paceOver, leastEnds = 10 * time.Minute, 3
)

// status is what the live part shows: of a run at a time, without widths and colours.
type status struct {
	run, state, spent string
	// bar is how far the run, or its present phase, is; done and tally are that in words.
	bar         view.Phase
	done, tally string
	// perMinute is how many tasks land a minute, left how long the rest takes at that pace; 0 where it is not known.
	perMinute float64
	left      time.Duration
	waits     []waiting
	same      string
	groups    []view.Group
	// rows is how many lines there are at most, room how many of them are for the groups.
	rows, room int
}

// status folds the run for a few lines.
func (v *folded) status(now time.Time, height int) status {
	s := status{
		run: v.run, state: view.Status(v.State), spent: spent(v, now), waits: v.waits(now), same: v.causes.more(),
		groups: view.Groups(v.State),
	}
	if v.Unverified != "" {
		s.state += ", unverified"
	}
	s.progress(v, now)
	s.rows = max(1, min(maxLines, height))
	s.room = s.rows - 2
	if len(s.waits) > 0 {
		s.room--
	}
	if s.same != "" {
		s.room--
	}
	return s
}

// progress fills in how far the run is.
func (s *status) progress(v *folded, now time.Time) {
	phase := func(i int) {
		s.bar = view.Phases(v.State)[i]
		s.done = strings.ToLower(s.bar.Name)
		if s.bar.Total > 0 {
			s.done += " " + sum(s.bar)
		}
	}
	switch v.Status {
	case "", run.Created, run.Preflight:
		phase(0)
	case run.Planning:
		phase(1)
	case run.Final:
		phase(4)
	default:
		n := v.Tasks.Counts()
		s.bar = tasksBar(n)
		s.done = sum(s.bar) + " " + endings(n, s.bar)
		s.tally = tally(n, v.landedUnverified())
		s.pace(v, now)
	}
}

// tasksBar is how far the tasks of the run are.
func tasksBar(n map[run.TaskState]int) view.Phase {
	p := view.Phase{
		Good: n[run.TaskLanded] + n[run.TaskDone], Bad: n[run.TaskParked] + n[run.TaskCancelled],
		Part: n[run.TaskRunning] + n[run.TaskVerifying] + n[run.TaskHeld] + n[run.TaskAccepted] + n[run.TaskLanding],
	}
	p.Total = p.Good + p.Bad + p.Part + n[run.TaskPending]
	return p
}

// endings words what the ended tasks of a bar are.
func endings(n map[run.TaskState]int, bar view.Phase) string {
	switch {
	case bar.Bad > 0:
		return "ended"
	case n[run.TaskDone] == bar.Good && bar.Good > 0:
		return "done"
	}
	return "landed"
}

// pace fills in how fast tasks land, and how long the rest takes at that pace.
func (s *status) pace(v *folded, now time.Time) {
	if v.Wait.For != "" || v.Status != run.Running {
		return
	}
	clock := v.active(now)
	from := max(v.running, clock-paceOver)
	minutes := (clock - from).Minutes()
	if minutes <= 0 {
		return
	}
	s.perMinute = float64(v.landed.since(from)) / minutes
	if ended := v.ended.since(from); ended >= leastEnds {
		rest := s.bar.Total - s.bar.Good - s.bar.Bad
		s.left = time.Duration(float64(rest) / float64(ended) * float64(clock-from))
	}
}

// spent is the run's time and tokens.
func spent(v *folded, now time.Time) string {
	now = cmp.Or(v.Ended, now)
	s := "0s"
	if !v.Spec.Created.IsZero() {
		s = view.Span(max(0, v.active(now)))
	}
	s += " · " + view.Tokens(v.Usage.Total())
	if v.Budget > 0 {
		s += " of " + view.Tokens(v.Budget)
	}
	return s + " tokens" + run.Plus(v.Unmetered())
}

// about rounds an estimate.
func about(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "under a minute left"
	case d < time.Hour:
		return "about " + text.Count(int(d.Round(time.Minute).Minutes()), "minute") + " left"
	}
	return "about " + view.Span(d.Round(5*time.Minute)) + " left"
}
