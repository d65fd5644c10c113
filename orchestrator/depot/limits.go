package depot

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
)

// maxLimits bounds how much a conductor keeps of what one worker tells so, maxLimit one of them in bytes.
const maxLimits, maxLimit = 32, 1000

// Limits are quotas as workers were told them, still valid, for workers that come later. The zero value is ready to use; it is
// safe for concurrent use.
type Limits struct {
	mu sync.Mutex
	by map[string]spec.Wait
}

// Take keeps what lasts longest.
func (l *Limits) Take(w spec.Wait) {
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
	had := l.by[key]
	if large || w.Account == "" || w.For != spec.WaitLimit && w.For != spec.WaitQuota || !w.Until.After(had.Until) {
		return
	}
	if (had.For == "" || had.From != w.From) && l.told(w.From) >= maxLimits {
		return
	}
	l.by[key] = w
}

// told counts what a worker has told. The caller holds mu.
func (l *Limits) told(worker string) (n int) {
	for _, w := range l.by {
		if w.From == worker {
			n++
		}
	}
	return n
}

// List returns what holds.
func (l *Limits) List() []spec.Wait {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	return slices.Collect(maps.Values(l.by))
}

func (l *Limits) sweep() {
	maps.DeleteFunc(l.by, func(_ string, w spec.Wait) bool { return !w.Until.After(time.Now()) })
}

// Drop forgets what matches.
func (l *Limits) Drop(match func(spec.Wait) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.by, func(_ string, w spec.Wait) bool { return match(w) })
}

// limitKeeper keeps the limits that other processes tell, until one is to be dropped.
type limitKeeper interface {
	Take(w spec.Wait)
	Drop(match func(spec.Wait) bool)
}

// ListenLimits has k know what services told other processes, until stop. Which worker told it, the subject proves.
func ListenLimits(ctx context.Context, b *bus.Bus, k limitKeeper) (stop func(), err error) {
	deaf, err := b.Subscribe(ctx, bus.LimitsFilter(), func(m bus.Message, _ func([]byte) error) {
		var w spec.Wait
		if json.Unmarshal(m.Data, &w) == nil {
			w.From = bus.Caller(m.Subject)
			k.Take(w.Taken(time.Now()))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for rate limits: %w", err)
	}
	deafer, err := b.Subscribe(ctx, bus.FreedFilter(), func(m bus.Message, _ func([]byte) error) {
		from := bus.Caller(m.Subject)
		k.Drop(func(w spec.Wait) bool { return w.From == from })
	})
	if err != nil {
		deaf()
		return nil, fmt.Errorf("listen for rate limits that end: %w", err)
	}
	return func() { deaf(); deafer() }, nil
}
