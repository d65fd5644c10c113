package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"divisi/bus"
	"divisi/internal/model"
	"divisi/internal/spec"
)

// maxLimits bounds how much a conductor keeps of that, maxLimit one of them in bytes.
const maxLimits, maxLimit = 256, 1000

// limits are what workers were told of quotas and still holds, for workers that come later. The zero value is ready to use; it
// is safe for concurrent use.
type limits struct {
	mu sync.Mutex
	by map[string]spec.Wait
}

// take keeps what lasts longest.
func (l *limits) take(w spec.Wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := w.For + " " + w.Account
	if w.For == spec.WaitQuota {
		key += " " + w.Model
	}
	l.sweep()
	if l.by == nil {
		l.by = map[string]spec.Wait{}
	}
	large := len(w.Model)+len(w.Quota)+len(w.Account)+len(w.Why)+len(w.Instead) > maxLimit
	if _, had := l.by[key]; !large && (had || len(l.by) < maxLimits) && w.Account != "" && w.Until.After(l.by[key].Until) {
		l.by[key] = w
	}
}

// list returns what holds.
func (l *limits) list() []spec.Wait {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	return slices.Collect(maps.Values(l.by))
}

func (l *limits) sweep() {
	maps.DeleteFunc(l.by, func(_ string, w spec.Wait) bool { return !w.Until.After(time.Now()) })
}

// listenLimits calls take for what other processes were told by services, until stop.
func listenLimits(ctx context.Context, b *bus.Bus, take func(spec.Wait)) (stop func(), err error) {
	stop, err = b.Subscribe(ctx, bus.LimitsSubject(), func(m bus.Message, _ func([]byte) error) {
		var w spec.Wait
		if json.Unmarshal(m.Data, &w) == nil {
			take(w.Taken(time.Now()))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for rate limits: %w", err)
	}
	return stop, nil
}

// shareLimits has this process and the others of the server keep to the rate limits that services tell any of them.
func (w *work) shareLimits(ctx context.Context, rate *model.RateLimit) error {
	if w.bus.Embedded() {
		return nil
	}
	stop, err := listenLimits(ctx, w.bus, rate.Take)
	if err != nil {
		return err
	}
	w.later(stop)
	rate.Share(func(wait spec.Wait) { w.say(ctx, w.bus, bus.LimitsSubject(), wait.Sent(time.Now())) })
	if w.engaged != nil {
		w.engaged.keepTo(rate)
	}
	return nil
}

// keepTo has an engagement tell its conductors what holds of a rate limit, and keep to what they tell. What holds of the one
// before goes on.
func (e *engagement) keepTo(rate *model.RateLimit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rate != nil {
		for _, limit := range e.rate.Limits() {
			rate.Take(limit)
		}
	}
	e.rate = rate
}

// kept is the rate limit of the engagement; nil before it has one.
func (e *engagement) kept() *model.RateLimit {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rate
}
