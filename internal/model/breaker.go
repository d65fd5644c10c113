package model

import (
	"sync"
	"time"
)

// How long a breaker stays open after a failure; it doubles with each failed probe.
const (
	firstOpen = 30 * time.Second
	maxOpen   = 5 * time.Minute
)

// breakers are the circuit breakers of models that failed and have not answered since. All callers of a process share them. It
// is safe for concurrent use.
type breakers struct {
	mu   sync.Mutex
	open map[breakerKey]*breaker
}

// breakerKey is a model in a tier.
type breakerKey struct{ model, tier string }

// breaker is open until a time, and then half open: one caller at a time probes whether the model answers again.
type breaker struct {
	until  time.Time
	length time.Duration
	probed bool
}

func newBreakers() *breakers { return &breakers{open: map[breakerKey]*breaker{}} }

func (c Candidate) key() breakerKey { return breakerKey{c.Model, c.Tier} }

// allow reports whether a candidate may be asked, and whether that is a probe, which ends with release.
func (b *breakers) allow(c Candidate) (allowed, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.open[c.key()]
	switch {
	case r == nil:
		return true, false
	case r.probed || time.Now().Before(r.until):
		return false, false
	}
	r.probed = true
	return true, true
}

// release ends a probe.
func (b *breakers) release(c Candidate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.open[c.key()]; r != nil {
		r.probed = false
	}
}

// close records that a candidate has answered, and reports whether its breaker was open.
func (b *breakers) close(c Candidate) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, open := b.open[c.key()]
	delete(b.open, c.key())
	return open
}

// trip opens the breaker of a candidate, at least for as long as the server asked. Of many callers that fail at about the same
// time only the first opens it for longer.
func (b *breakers) trip(c Candidate, atLeast time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, r := time.Now(), b.open[c.key()]
	if r == nil {
		r = &breaker{}
		b.open[c.key()] = r
	}
	if !r.until.After(now) {
		r.length = min(max(2*r.length, firstOpen), maxOpen)
		r.until = now.Add(r.length)
	}
	if until := now.Add(atLeast); until.After(r.until) {
		r.until = until
	}
}
