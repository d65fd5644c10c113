package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// making is the attempt in which the gates run on the base commit in another environment.
type making struct {
	task    string
	attempt int
	worker  string
}

// environments places workers whose environment is not the first one.
type environments struct {
	*record

	// making are the attempts in which the gates run on the base commit in another environment, by environment.
	making map[string]making
}

// Place tells a worker, which has no baseline of its environment for an attempt, what to do about it. It may be called from any
// goroutine while Run is under way.
func (c *Conductor) Place(ctx context.Context, f wire.Foreign) (placed wire.Placed, err error) {
	var found wire.Placed
	err = c.within(ctx, func(ctx context.Context) error {
		found = c.place(f)
		_, there := c.st.Crew[f.Worker]
		if there && found.Part == wire.PartYield && !f.Barred && c.st.Proofs.At[f.Worker] != f.Environment {
			// No receipt tells where it works: workers that leave gates to others would wait for it.
			if err := c.caused.one(f.Worker, c.cfg.Clock()); err != nil {
				return err
			}
			return c.execute(ctx, []run.Action{run.SetRun(run.Data{At: map[string]string{f.Worker: f.Environment}})})
		}
		if f.Unable == "" || found.Part != wire.PartMake {
			return nil
		}
		delete(c.making, f.Environment) // another worker of it may do better
		why := text.Short(text.OneLine(f.Unable), maxUnable)
		found = wire.Placed{Part: wire.PartLeave, Lacks: []string{why}}
		notice := fmt.Sprintf("the gates could not be run on the base commit in the environment of worker %s (%.12s), which "+
			"proves nothing because of that: %s", f.Worker, f.Environment, why)
		if slices.Contains(c.st.Notices, notice) { // the answer of the conductor before was lost
			return nil
		}
		if err := c.caused.one(f.Worker, c.cfg.Clock()); err != nil {
			return err
		}
		return c.execute(ctx, []run.Action{run.SetRun(run.Data{Notices: []string{notice}})})
	})
	if err == nil { // else the run's goroutine may still be at it
		placed = found
	}
	return placed, err
}

// maxUnable bounds, in characters, why the gates could not be run in an environment.
const maxUnable = 300

func (c *environments) place(f wire.Foreign) wire.Placed {
	p, own := &c.st.Proofs, making{f.Task, f.Attempt, f.Worker}
	other, known := p.Others[f.Environment]
	_, made := p.Made[f.Environment]
	maps.DeleteFunc(c.making, func(_ string, by making) bool { // an attempt does not wait for a delivery of it before
		return !c.made(by) || by.task == own.task && by.attempt == own.attempt
	})
	_, begun := c.making[f.Environment]
	switch {
	case !c.made(own) || c.st.Works[f.Task].At(f.Attempt).Void:
		return wire.Placed{Part: wire.PartYield}
	case f.Barred && c.st.Barred(f.Task, c.st.Works[f.Task].At(f.Attempt), f.Worker):
		return wire.Placed{Part: wire.PartYield}
	case f.Barred:
		return wire.Placed{Part: wire.PartProve}
	case len(other.Lacks) > 0:
		return wire.Placed{Part: wire.PartLeave, Lacks: other.Lacks}
	case c.inFirst(f) && p.At[f.Worker] != p.Reference() && c.st.ReferenceServed(f.Worker):
		return wire.Placed{Part: wire.PartYield}
	case known, f.Environment == p.Reference():
		return wire.Placed{Part: wire.PartAgain}
	case made, begun:
		return wire.Placed{Part: wire.PartWait}
	case len(p.Others)+len(p.Made)+len(c.making) >= run.MostOthers:
		return wire.Placed{Part: wire.PartLeave, Lacks: []string{"no more environments are compared in one run"}}
	}
	c.making[f.Environment] = own
	return wire.Placed{Part: wire.PartMake}
}

// inFirst reports whether the gates of an attempt run in the first environment while it has a worker.
func (c *environments) inFirst(f wire.Foreign) bool {
	a := c.st.Works[f.Task].At(f.Attempt)
	return a != nil && a.InFirst
}

// made reports whether a baseline can come from an attempt: it has not ended, and its worker is there.
func (c *environments) made(m making) bool {
	a := c.st.Works[m.task].At(m.attempt)
	_, there := c.st.Crew[m.worker]
	return there && a != nil && a.Role != "" && a.Result == nil
}

// makes reports whether an attempt makes the baseline of an environment, which is of use also where the attempt is not any more.
func (c *environments) makes(task string, attempt int) bool {
	for _, by := range c.making {
		if by.task == task && by.attempt == attempt {
			return true
		}
	}
	return false
}
