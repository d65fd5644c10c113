// Package meter counts calls and the time that they take. Its input are the calls of one place of the code, its output their
// number and their sum, so that a figure can be split by the place that spent it. It never delays a call and prints nothing.
package meter

import (
	"sync/atomic"
	"time"
)

// Spent is how many calls were made and how long they took together; calls that overlap count in full.
type Spent struct {
	Calls int
	Time  time.Duration
}

// Sub returns what was spent since an earlier reading.
func (s Spent) Sub(o Spent) Spent { return Spent{s.Calls - o.Calls, s.Time - o.Time} }

// Meter adds calls up. The zero value is ready, and safe for concurrent use.
type Meter struct{ calls, nanos atomic.Int64 }

// Since counts one call that began at the given time.
func (m *Meter) Since(begin time.Time) {
	m.calls.Add(1)
	m.nanos.Add(int64(time.Since(begin)))
}

// Spent returns what has been counted so far.
func (m *Meter) Spent() Spent { return Spent{int(m.calls.Load()), time.Duration(m.nanos.Load())} }
