package feed

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/stats"
)

// paceOver is the time over which landings are counted, and leastEnds how many ends an estimate of the rest needs.
const paceOver, leastEnds = 10 * time.Minute, 3

// Glance is a run in a few lines.
type Glance struct {
	Run, State, Spent string
	// Bar is how far the run, or its present phase, is; Done and Tally are that in words.
	Bar         stats.Phase
	Done, Tally string
	// PerMinute is how many tasks land a minute, Left how long the rest takes at that pace; 0 where it is not known.
	PerMinute float64
	Left      time.Duration
	Waits     []Waiting
	// Same counts the tasks that the failure shown last has happened to as well.
	Same   string
	Groups []view.Group
}

// Glance is how the run is at a time.
func (v *Followed) Glance(now time.Time) Glance {
	g := Glance{
		Run: v.Run, State: view.Status(v.State), Spent: v.Spent(now), Waits: v.waits(now), Same: v.causes.more(),
		Groups: view.Groups(v.State),
	}
	if v.Unverified != "" {
		g.State += ", unverified"
	}
	g.progress(v, now)
	return g
}

// progress fills in how far the run is.
func (g *Glance) progress(v *Followed, now time.Time) {
	phase := func(i int) {
		g.Bar = stats.Phases(v.State)[i]
		g.Done = strings.ToLower(g.Bar.Name)
		if g.Bar.Total > 0 {
			g.Done += " " + sum(g.Bar)
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
		g.Bar = tasksBar(n)
		g.Done = sum(g.Bar) + " " + endings(n, g.Bar)
		g.Tally = v.Tally()
		g.pace(v, now)
	}
}

// sum writes how many of a phase are over.
func sum(p stats.Phase) string { return fmt.Sprintf("%d/%d", p.Good+p.Bad, p.Total) }

// tasksBar is how far the tasks of the run are.
func tasksBar(n stats.Counts) stats.Phase {
	p := stats.Phase{
		Good: n.Of(run.TaskLanded, run.TaskDone), Bad: n.Given(),
		Part: n.Of(run.TaskRunning, run.TaskVerifying, run.TaskHeld, run.TaskAccepted, run.TaskLanding),
	}
	p.Total = p.Good + p.Bad + p.Part + n[run.TaskPending]
	return p
}

// endings words the outcome of the ended tasks of a bar.
func endings(n stats.Counts, bar stats.Phase) string {
	switch {
	case bar.Bad > 0:
		return "ended"
	case n[run.TaskDone] == bar.Good && bar.Good > 0:
		return "done"
	}
	return "landed"
}

// pace fills in how fast tasks land, and how long the rest takes at that pace.
func (g *Glance) pace(v *Followed, now time.Time) {
	if v.Wait.For != "" || v.Status != run.Running {
		return
	}
	clock := v.active(now)
	from := max(v.running, clock-paceOver)
	minutes := (clock - from).Minutes()
	if minutes <= 0 {
		return
	}
	g.PerMinute = float64(v.landed.since(from)) / minutes
	if ended := v.ended.since(from); ended >= leastEnds {
		rest := g.Bar.Total - g.Bar.Good - g.Bar.Bad
		g.Left = time.Duration(float64(rest) / float64(ended) * float64(clock-from))
	}
}

// Spent is the run's time and tokens.
func (v *Followed) Spent(now time.Time) string {
	now = cmp.Or(v.Ended, now)
	s := "0s"
	if !v.Spec.Created.IsZero() {
		s = text.Span(max(0, v.active(now)))
	}
	s += " · " + text.Tokens(v.Usage.Total())
	if !v.Budget.IsZero() && !v.Budget.Money {
		s += " of " + text.Tokens(int(v.Budget.Amount))
	}
	s += " tokens" + view.Plus(v.Unmetered())
	switch {
	case v.Budget.Money:
		s += fmt.Sprintf(" · %s of %s", v.Booked, v.Budget)
	case v.Usage.Total() > 0:
		s += " · " + forecast.Cost(stats.Spent(v.State))
	}
	return s
}

// Tally words how many tasks of the run are in each state.
func (v *Followed) Tally() string {
	unverified := 0
	for _, t := range v.Tasks.ByID {
		if t.State == run.TaskLanded && t.Landed.Unverified != "" {
			unverified++
		}
	}
	return view.TallyOf(v.Tasks.Counts(), unverified)
}
