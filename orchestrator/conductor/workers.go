package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/machine"
	"divisi/internal/text"
	"divisi/orchestrator/call"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// workers execute what the conductor dispatches: own in the process of the run, elsewhere in others, which enlist.
type workers interface {
	present
	// crew is whom the run counts on at the beginning of an epoch.
	crew() run.Crew
	// knows refuses one that the run does not count on.
	knows(worker string) error
	// lacking is told of an attempt whose machine lacks something.
	lacking(e *contextscope.Event, what wire.Nudge)
}

// present is how the conductor and its workers notice each other.
type present interface {
	// attend listens to what they say of themselves until stop.
	attend(ctx context.Context) (stop func(), err error)
	// wake tells them that the log has what they may wait for.
	wake(ctx context.Context, data any)
	// callRoll notes who is no longer there; miss that attempts wait, and none has been reported since quiet.
	callRoll(ctx context.Context) error
	miss(ctx context.Context, quiet time.Time) error
}

type own struct{ *Conductor }

func (own) crew() run.Crew { return nil }

func (own) knows(string) error { return nil }

func (c own) lacking(_ *contextscope.Event, what wire.Nudge) {
	c.lacks(machine.Fault{What: what.Class, Path: what.Detail})
}

func (own) attend(context.Context) (func(), error) { return func() {}, nil }

func (c own) wake(_ context.Context, data any) {
	d, _ := data.(run.Data)
	if d.BudgetDay != nil && c.cfg.RaisedDay != nil { // before calls try again
		c.cfg.RaisedDay(*d.BudgetDay)
	}
	if d.Budget != nil && c.cfg.Raised != nil {
		c.cfg.Raised(*d.Budget)
	}
}

func (own) callRoll(context.Context) error { return nil }

// miss records, once, that attempts wait on the queue and that no worker has reported any since quiet. The first time that
// it is so may be too early.
func (c own) miss(ctx context.Context, quiet time.Time) error {
	waiting := 0
	for _, w := range c.st.Queue {
		if w.Outstanding() && !w.Waits() {
			waiting++
		}
	}
	if at := c.reported.Load(); waiting == 0 || c.halt.on() || at != nil && at.After(quiet) {
		c.alone = 0
		return nil
	}
	if c.alone++; c.alone != 2 {
		return nil
	}
	return c.append(ctx, run.Append{Data: run.Data{Notices: []string{fmt.Sprintf(
		"waiting for a worker: no process works on %s of the queue", text.Count(waiting, "attempt"))}}})
}

type elsewhere struct{ *roster }

func (elsewhere) crew() run.Crew { return run.Crew{} }

func (c elsewhere) knows(worker string) error {
	if _, there := c.st.Crew[worker]; !there {
		return call.AskAgain("the run does not count on worker " + worker + ", which has to enlist")
	}
	return nil
}

// lacking has the worker leave, or be told to; the others go on.
func (c elsewhere) lacking(e *contextscope.Event, what wire.Nudge) {
	c.away.broke = append(c.away.broke, broken{e.Task, e.Attempt, e.Worker, what})
}

func (c elsewhere) attend(ctx context.Context) (stop func(), err error) {
	c.muster.since = c.cfg.Clock()
	return c.cfg.Bus.Subscribe(ctx, bus.WorkersPresent(), func(m bus.Message, _ func([]byte) error) {
		p, err := wire.DecodePresence(m)
		if err != nil {
			c.cfg.Log.Debug().Err(err).Msg("a presence was passed over")
			return
		}
		p.Meet(c.conducting())
		c.muster.take(p.Of(c.cfg.Run))
	})
}

// callRoll takes workers out of the crew that were silent for too long, and notes which roles none of the others serves.
func (c elsewhere) callRoll(ctx context.Context) error {
	if c.pausing {
		return nil
	}
	if err := c.sendStayers(ctx); err != nil {
		return err
	}
	for _, name := range append(slices.Sorted(maps.Keys(c.st.Crew)), slices.Sorted(maps.Keys(c.st.Away))...) {
		if !c.muster.there(name) && c.cfg.Bus.Steady(c.cfg.Patience.Present) {
			how := fmt.Sprintf("was lost: no sign of life for %s", c.cfg.Patience.Present)
			if err := c.discharge(ctx, name, how, ""); err != nil {
				return err
			}
		}
	}
	lacking := map[string]run.Unserved{}
	if c.cfg.Clock().Sub(c.muster.since) > c.cfg.Patience.Present {
		present := c.muster.present()
		maps.DeleteFunc(present, func(name string, _ *wire.Presence) bool { return c.st.Quarantines[name] != nil })
		lacking = unserved(c.st, present)
	}
	if maps.EqualFunc(lacking, c.st.Unserved, func(a, b run.Unserved) bool { return a.Why == b.Why }) {
		return nil
	}
	return c.append(ctx, run.Append{Data: run.Data{Unserved: lacking}})
}

// wake publishes it. A worker that does not hear it looks again before long.
func (c elsewhere) wake(ctx context.Context, data any) {
	switch d := data.(type) {
	case wire.Answer:
		if q := c.st.Requests.ByID[d.Request]; q != nil {
			c.publish(ctx, wire.Control{Verb: wire.ControlRead, Task: q.Of, Attempt: q.Attempt})
		}
	case run.Data:
		if d.Setup != "" || d.Baseline != nil {
			c.publish(ctx, wire.Control{Verb: wire.ControlRead})
		}
	}
}

func (elsewhere) miss(context.Context, time.Time) error { return nil }
