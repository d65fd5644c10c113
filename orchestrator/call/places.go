package call

import (
	"maps"
	"sync"
	"time"
)

// MaxOfOne bounds the calls of one who calls that are answered at once.
const MaxOfOne = 32

const (
	// maxCalls bounds the calls that are answered at once.
	maxCalls = 128
	// maxPaced bounds for how many callers it is known how often they called.
	maxPaced = 4096
)

// places counts the calls under way, by caller.
type places struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// take takes a place; there is none where too many calls are under way.
func (p *places) take(caller string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= maxCalls || p.by[caller] >= MaxOfOne {
		return false
	}
	p.all++
	p.by[caller]++
	return true
}

func (p *places) leave(caller string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.by[caller]--; p.by[caller] == 0 {
		delete(p.by, caller)
	}
}

// Pace is how often each caller has called. The zero value is ready to use.
type Pace struct {
	mu sync.Mutex
	by map[string]time.Time // when the caller has all of its calls again
}

// take reports whether a call may be made: so many at once, then one more after each time.
func (p *Pace) take(caller string, burst int, every time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	if p.by == nil {
		p.by = map[string]time.Time{}
	}
	if len(p.by) >= maxPaced {
		maps.DeleteFunc(p.by, func(_ string, full time.Time) bool { return !full.After(at) })
	}
	full := p.by[caller]
	if full.Before(at) {
		full = at
	}
	full = full.Add(every)
	if len(p.by) >= maxPaced || full.Sub(at) > time.Duration(burst)*every {
		return false
	}
	p.by[caller] = full
	return true
}
