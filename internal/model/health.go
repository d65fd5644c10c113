package model

import (
	"sync"
	"time"
)

// The rest of a model that failed; it doubles with each failed probe.
const (
	firstRest = 30 * time.Second
	maxRest   = 5 * time.Minute
)

// health knows which models rest after a failure. It is shared by all callers of a process and safe for concurrent use.
type health struct {
	mu    sync.Mutex
	rests map[patient]*rest
}

// patient is a model in a tier.
type patient struct{ model, tier string }

// rest is the state of a model that failed and has not answered since.
type rest struct {
	until  time.Time
	length time.Duration
	// probe says that a caller is finding out whether it answers again.
	probe bool
}

func newHealth() *health { return &health{rests: map[patient]*rest{}} }

func (c Choice) patient() patient { return patient{c.Model, c.Tier} }

// enter says whether a model may be asked. After its rest one caller at a time may: the probe,
// which ends with leave.
func (h *health) enter(c Choice) (open, probe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rests[c.patient()]
	switch {
	case r == nil:
		return true, false
	case r.probe || time.Now().Before(r.until):
		return false, false
	}
	r.probe = true
	return true, true
}

// leave ends a probe.
func (h *health) leave(c Choice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rests[c.patient()]; r != nil {
		r.probe = false
	}
}

// well says that a model has answered, and reports whether it rested before.
func (h *health) well(c Choice) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, rested := h.rests[c.patient()]
	delete(h.rests, c.patient())
	return rested
}

// fail lets a model rest, at least for as long as the server said. Of many callers that fail at about the same time only the
// first makes it longer.
func (h *health) fail(c Choice, atLeast time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, r := time.Now(), h.rests[c.patient()]
	if r == nil {
		r = &rest{}
		h.rests[c.patient()] = r
	}
	if !r.until.After(now) {
		r.length = min(max(2*r.length, firstRest), maxRest)
		r.until = now.Add(r.length)
	}
	if until := now.Add(atLeast); until.After(r.until) {
		r.until = until
	}
}
