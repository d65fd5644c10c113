package conductor

import (
	"maps"
	"time"

	"divisi/orchestrator/request"
)

// A worker has the conductor append at most mostCaused events within causedFor by what it says of itself.
const (
	mostCaused = 60
	causedFor  = 10 * time.Minute
)

// caused counts the events that workers have the conductor append. It belongs to the conductor's goroutine.
type caused map[string]*counted

// counted are the events of one worker since a time.
type counted struct {
	since  time.Time
	events int
}

// one counts an event that a worker causes now, and refuses one too many.
func (c caused) one(worker string, now time.Time) error {
	maps.DeleteFunc(c, func(_ string, of *counted) bool { return now.Sub(of.since) >= causedFor })
	of := c[worker]
	if of == nil {
		of = &counted{since: now}
		c[worker] = of
	}
	if of.events >= mostCaused {
		return request.Refusedf("worker %s has told other things of itself %d times within %s: it is asked to wait",
			worker, mostCaused, causedFor)
	}
	of.events++
	return nil
}
