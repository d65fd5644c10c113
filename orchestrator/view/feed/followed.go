// Package feed computes the live displays of a run. Its input is the events of the log, in their order; its output is a line for
// each event, the run at a glance, notices and changes since a time. It prints nothing and makes no foreign text safe.
package feed

import (
	"cmp"
	"slices"
	"time"

	"divisi/contextscope"
	"divisi/orchestrator/run"
)

// Followed is the state of a run, with what a display that follows its log needs beyond it. It passes over events that the fold
// cannot read, because a display must not end a run.
type Followed struct {
	*run.State

	// Run is the run's id, before the log names it.
	Run string
	// moments are the times of the events with which a wait can begin, in the order of the log.
	moments []moment
	// ended and landed are when tasks ended, and landed or were done, on the run's active clock.
	ended, landed pace
	// running is when tasks could first run, on that clock. stopped is when the line was stopped or the machine failed.
	running time.Duration
	stopped time.Time
	// open is when a decision was first seen that does not tell where it began.
	open   map[string]time.Time
	causes causes
}

// moment is when an event of the log was written.
type moment struct {
	pos uint64
	at  time.Time
}

// pace has when each of some things happened, in order.
type pace []time.Duration

// reach notes that there are n of them by now.
func (p *pace) reach(n int, at time.Duration) {
	*p = (*p)[:min(n, len(*p))]
	for len(*p) < n {
		*p = append(*p, at)
	}
}

// since counts those after a time.
func (p pace) since(at time.Duration) int {
	i, _ := slices.BinarySearch(p, at)
	return len(p) - i
}

// Follow begins to follow a run.
func Follow() *Followed {
	return &Followed{State: run.NewState(), open: map[string]time.Time{}, causes: newCauses()}
}

// Apply takes in an event of the log.
func (v *Followed) Apply(e *contextscope.Event) {
	v.Run = cmp.Or(v.Run, e.Run)
	before, stood := v.Passed[run.Running], v.Line != "" || v.Halted()
	_ = v.State.Apply(e)
	switch e.Kind {
	case contextscope.KindRun, contextscope.KindTask, contextscope.KindPlan, contextscope.KindLanding, contextscope.KindRequest:
	default:
		return
	}
	v.moments = append(v.moments, moment{e.Pos, e.Time})
	if !before && v.Passed[run.Running] {
		v.running = v.active(e.Time)
	}
	if !stood && (v.Line != "" || v.Halted()) {
		v.stopped = e.Time
	}
	if e.Kind == contextscope.KindTask || e.Kind == contextscope.KindLanding {
		n := v.Tasks.Counts()
		landed := n[run.TaskLanded] + n[run.TaskDone]
		v.landed.reach(landed, v.active(e.Time))
		v.ended.reach(landed+n[run.TaskParked]+n[run.TaskCancelled]+n[run.TaskSkipped]+n[run.TaskDropped], v.active(e.Time))
	}
}

// active is a time on the run's clock, without the time in which the run waited for a person.
func (v *Followed) active(at time.Time) time.Duration { return v.Times.Clock(at) - v.Wait.Until(at) }

// at is when the event at a position of the log was written, or the one before it.
func (v *Followed) at(pos uint64) time.Time {
	i, found := slices.BinarySearchFunc(v.moments, pos, func(m moment, pos uint64) int { return cmp.Compare(m.pos, pos) })
	switch {
	case found:
		return v.moments[i].at
	case i > 0:
		return v.moments[i-1].at
	}
	return v.Time
}

// Waiting is something that the run waits for, since a time; zero where that is not known.
type Waiting struct {
	Wait

	Since time.Time
}

func (v *Followed) waits(now time.Time) []Waiting {
	var out []Waiting
	for _, w := range Waits(v.State, now) {
		var since time.Time // that of a quota is not known, but its end
		switch {
		case w.Pos > 0:
			since = v.at(w.Pos)
		case w.Decision != "":
			if v.open[w.Decision].IsZero() {
				v.open[w.Decision] = v.Time
			}
			since = v.open[w.Decision]
		case v.Line != "" || v.Halted():
			since = v.stopped
		}
		out = append(out, Waiting{w, since})
	}
	return out
}
