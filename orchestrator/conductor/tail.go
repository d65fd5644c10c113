package conductor

import (
	"context"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/eventlog"
)

type tailed struct {
	events []contextscope.Event
	err    error
}

// tail follows the run's log from what New has folded on: workers write while a conductor takes over, also between its own
// events.
func (c *Conductor) tail(ctx context.Context) (<-chan tailed, <-chan struct{}) {
	out, done := make(chan tailed, 256), make(chan struct{})
	from := c.folded + 1
	go func() {
		defer close(done)
		for m, err := range c.cfg.Bus.Tail(ctx, bus.RunFilter(c.cfg.Run), from) {
			t := tailed{err: err}
			if err == nil {
				t.events = eventlog.Events(m)
			}
			select {
			case out <- t:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, done
}

// take folds one message and all others that are already waiting, so that the rules run once for all of them.
func (c *Conductor) take(t tailed, tail <-chan tailed) error {
	for {
		if t.err != nil {
			return fmt.Errorf("follow the log of run %s: %w", c.cfg.Run, t.err)
		}
		for i := range t.events {
			if err := c.fold(&t.events[i]); err != nil {
				return err
			}
		}
		select {
		case t = <-tail:
		default:
			return nil
		}
	}
}

// fold applies what a worker wrote. The conductor's own events are folded when they are appended; one that is newer than
// them was written by a successor.
func (c *Conductor) fold(e *contextscope.Event) error {
	if e.Agent != "" {
		if err := c.st.Apply(e); err != nil {
			return err
		}
		if e.Kind == contextscope.KindStarted || e.Kind == contextscope.KindTurn || e.Kind == contextscope.KindTool {
			c.active[e.Task] = true
		}
		if a := c.st.Works.Attempt(e.Task, e.Attempt); a != nil && a.Lacks != nil && e.Kind == contextscope.KindControl {
			c.workers.lacking(e, *a.Lacks)
		} else if e.Kind == contextscope.KindResult && c.halt != nil && c.halt.over {
			c.halt = nil
		}
		return nil
	}
	if e.Pos > c.last {
		return fmt.Errorf("event %s at %d: %w", e.ID, e.Pos, ErrDeposed)
	}
	return nil
}
