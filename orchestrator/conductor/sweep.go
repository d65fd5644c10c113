package conductor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/eventlog"
)

const (
	// sweepEvery is how often the queue is compared with the log.
	sweepEvery = 20 * time.Second
	// lostAfter is how long a task may be on the queue without a sign of its worker.
	lostAfter = time.Minute
	// backGrace is how long after a lost connection workers may take to report what they hold.
	backGrace = 2 * time.Second
)

// hear notes which attempts of those that this conductor has put on the queue workers report to hold.
func (c *Conductor) hear(ctx context.Context) (stop func(), err error) {
	return c.cfg.Bus.Subscribe(ctx, bus.ActiveSubject(c.cfg.Run), func(m bus.Message, _ func([]byte) error) {
		if _, known := c.heard.Load(string(m.Data)); known { // a worker may report what it wants
			now := c.cfg.Clock()
			c.heard.Store(string(m.Data), now)
			c.reported.Store(&now)
		}
	})
}

// sweep puts on the queue the attempts that are outstanding in the log and that the queue lacks or does not deliver: the
// log is the truth, the queue a cache of work. An attempt that no worker has reported since quiet is with none.
func (c *Conductor) sweep(ctx context.Context, quiet time.Time) error {
	if c.pausing {
		return nil
	}
	queued, err := c.cfg.Bus.Queued(ctx, bus.TaskFilter(c.cfg.Run))
	if err != nil {
		return fmt.Errorf("list the queue of run %s: %w", c.cfg.Run, err)
	}
	have := map[string]string{}
	for _, s := range queued {
		have[s[strings.LastIndexByte(s, '.')+1:]] = s
	}
	c.forget()
	for id, w := range c.st.Queue {
		subject, there := have[queueToken(id, w.Last)]
		sign, _ := c.heard.Load(subject)
		at, _ := sign.(time.Time)
		if !w.Outstanding() || c.halt.on() && w.Attempts[w.Last].Lacks != nil || there && at.After(quiet) {
			continue
		}
		if there {
			err = c.takeBack(ctx, w)
		}
		if err == nil {
			err = c.enqueue(ctx, w.Redispatch())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forget forgets the signs of life of attempts that are not outstanding.
func (c *queue) forget() {
	outstanding := map[any]bool{}
	for _, w := range c.st.Queue {
		outstanding[c.subjectOf(w)] = w.Outstanding()
	}
	c.heard.Range(func(subject, _ any) bool {
		if !outstanding[subject] {
			c.heard.Delete(subject)
		}
		return true
	})
}

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
