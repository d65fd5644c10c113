package conductor

import (
	"maps"
	"slices"
	"time"

	"divisi/orchestrator/request"
)

// A worker has the conductor append at most mostCaused events within causedFor by what it says of itself.
const (
	mostCaused = 60
	causedFor  = 10 * time.Minute
)

// caused has when workers had the conductor append events. It belongs to the conductor's goroutine.
type caused map[string][]time.Time

// one counts an event that a worker causes now, and refuses one too many.
func (c caused) one(worker string, now time.Time) error {
	maps.DeleteFunc(c, func(_ string, at []time.Time) bool { return now.Sub(at[len(at)-1]) >= causedFor })
	at := slices.DeleteFunc(c[worker], func(at time.Time) bool { return now.Sub(at) >= causedFor })
	if len(at) >= mostCaused {
		return request.Refusedf("worker %s has told other things of itself %d times within %s: it is asked to wait",
			worker, mostCaused, causedFor)
	}
	c[worker] = append(at, now)
	return nil
}
