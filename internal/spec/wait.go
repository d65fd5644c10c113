package spec

import (
	"fmt"
	"time"
)

// Reasons why a call of a model waits.
const (
	WaitRetry    = "retry"    // the model failed and is asked again
	WaitFallback = "fallback" // another model is asked instead
	WaitOver     = "over"     // the model answers again
	WaitLimit    = "limit"    // the service asks everybody to wait
	WaitOutage   = "outage"   // the service is away
	WaitQuota    = "quota"    // a quota of the model is used up, and no call waits for it
	WaitBudget   = "budget"   // calls under way have reserved what is left of the budget
)

// Wait says for what a call of a model waits, and until when.
type Wait struct {
	For string `json:"for"`
	// Model is the model, with its tier where one is named; Instead is the one that is asked in its place.
	Model   string `json:"model"`
	Instead string `json:"instead,omitempty"`
	// Try is the try that comes, of Tries; 0 where tries are not counted.
	Try   int `json:"try,omitempty"`
	Tries int `json:"tries,omitempty"`
	// Until is when the wait ends, End when a service that is away is given up.
	Until time.Time `json:"until,omitzero"`
	End   time.Time `json:"end,omitzero"`
	Quota string    `json:"quota,omitempty"`
	Why   string    `json:"why,omitempty"`
	// Account is the one that a quota belongs to; see model.Account.
	Account string `json:"account,omitempty"`
	// From is the worker that told of it; empty where a service told this process itself.
	From string `json:"from,omitempty"`
	// In is how long it is to Until, on its way to another machine, whose clock may be another one; else zero.
	In time.Duration `json:"in_ns,omitempty"`
}

// Sent is the wait as another machine is told of it.
func (w Wait) Sent(now time.Time) Wait {
	w.In = max(w.Until.Sub(now), 1)
	return w
}

// MaxTold bounds for how long another machine can have said that something is to wait: longer than the quota of a day.
const MaxTold = 25 * time.Hour

// Taken is a wait that another machine has Sent, by the clock of this one.
func (w Wait) Taken(now time.Time) Wait {
	if w.In > 0 {
		w.Until, w.In = now.Add(min(w.In, MaxTold)), 0
	}
	if most := now.Add(MaxTold); w.Until.After(most) {
		w.Until = most
	}
	return w
}

// String says the wait in words.
func (w Wait) String() string {
	switch w.For {
	case WaitFallback:
		return fmt.Sprintf("%s is asked instead of %s: %s", w.Instead, w.Model, w.Why)
	case WaitOver:
		return w.Model + " answers again"
	case WaitLimit, WaitQuota:
		if w.Quota == "" {
			return fmt.Sprintf("waiting for the quota of %s until %s", w.Model, clock(w.Until))
		}
		return fmt.Sprintf("waiting for quota %q of %s until %s", w.Quota, w.Model, clock(w.Until))
	case WaitBudget:
		return "waiting for the budget: " + w.Why
	case WaitOutage:
		return fmt.Sprintf("waiting for %s: try %d at %s, until %s: %s", w.Model, w.Try, clock(w.Until), clock(w.End), w.Why)
	}
	return fmt.Sprintf("waiting for %s: try %d of %d at %s: %s", w.Model, w.Try, w.Tries, clock(w.Until), w.Why)
}

// clock is a time of day on this machine, with its date where it is far.
func clock(t time.Time) string {
	if time.Until(t).Abs() > 12*time.Hour {
		return t.Local().Format("2006-01-02 15:04 MST")
	}
	return t.Local().Format("15:04:05")
}
