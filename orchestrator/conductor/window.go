package conductor

import (
	"time"

	"divisi/orchestrator/landing"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/schedule"
)

// window is the wait of a batch for tasks that are under way. The log does not need it: a resumed run waits until the same time.
type window struct {
	until time.Time
	end   <-chan time.Time
	over  bool
}

// early reports whether a batch still waits for tasks that are under way, and has the rules asked again when that is over. A
// clock that jumps prolongs no wait. Once the budget is spent it waits for none.
func (c *Conductor) early(m landing.Merge) bool {
	if m.Window == nil || phase.Spent(&c.st.Agenda, &c.st.Agents) {
		return false
	}
	ready, _ := schedule.Ready(c.st)
	until, most := m.Window(ready)
	return !until.IsZero() && c.before(until, most)
}

// before reports whether a time is still to come, and has the rules asked again then.
func (c *Conductor) before(until time.Time, most time.Duration) bool {
	if !until.Equal(c.window.until) {
		wait := min(most, until.Sub(c.cfg.Clock()))
		c.window = window{until: until, end: time.After(wait), over: wait <= 0}
	}
	return !c.window.over
}
