package conductor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"divisi/bus"
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
func (c *Conductor) forget() {
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
