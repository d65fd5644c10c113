package conductor

import (
	"context"
	"maps"
	"slices"
	"time"

	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// broken is an attempt that broke off because of what the machine of a worker elsewhere lacks.
type broken struct {
	task    string
	attempt int
	worker  string
	why     wire.Nudge
}

// away lists workers whose machines lack something.
type away struct {
	// broke are the attempts that broke off since the last were given to others.
	broke []broken
	// leaving are workers that should leave by themselves, since when and why.
	leaving map[string]leaving
}

type leaving struct {
	since time.Time
	lacks string
}

// handOn gives the attempts that broke off on machines elsewhere to others at once: it is no failure of theirs.
func (c *roster) handOn(ctx context.Context) error {
	broke := c.away.broke
	c.away.broke = nil
	for _, b := range broke {
		if c.st.Spec.Keys[b.worker] == nil {
			continue
		}
		now := c.cfg.Clock()
		trouble := b.why.Class == wire.FaultInternal || b.why.Class == wire.FaultSetup
		_, counted := c.st.Crew[b.worker]
		if _, known := c.away.leaving[b.worker]; counted && !known && !trouble {
			c.away.leaving[b.worker] = leaving{now, b.why.Lack()}
		}
		w := c.st.Works[b.task]
		if c.pausing || !w.Outstanding() || w.Last != b.attempt || w.Newest().Lacks == nil || c.caused.one(b.worker, now) != nil {
			continue // the next sweep finds it where it is outstanding
		}
		if err := c.giveAgain(ctx, []*run.Work{w}); err != nil {
			return err
		}
	}
	return nil
}

// sendStayers takes workers out of the crew that should have left.
func (c *roster) sendStayers(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(c.away.leaving)) {
		if l := c.away.leaving[name]; c.cfg.Clock().Sub(l.since) > c.cfg.Patience.Retry {
			if err := c.sendAway(ctx, name, l.lacks); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendAway counts on a worker no more until it reports that its machine has what it lacks.
func (c *roster) sendAway(ctx context.Context, worker, lacks string) error {
	if _, had := c.st.Crew[worker]; !had {
		delete(c.away.leaving, worker)
		return nil
	}
	lacks = wire.Lacking(lacks)
	return c.discharge(ctx, worker, "lacks "+lacks+": it takes nothing until it has that", lacks)
}

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
