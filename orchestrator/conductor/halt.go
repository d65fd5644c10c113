package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// ErrMachine reports that the machine lacked something for longer than a run waits.
var ErrMachine = errors.New("the machine cannot continue the run")

// Patience bounds how a run waits; a zero field is the default. Sweep is how often queue and log are compared, Lost after which
// silence of its worker a task is delivered again, Retry how often a machine that lacks something is tried, Most how long.
// Present is for how long a worker elsewhere counts as there that has said so, Wait how long a command waits for what it needs,
// Outage how long a batch does at once.
type Patience struct{ Sweep, Lost, Retry, Most, Present, Wait, Outage time.Duration }

func (p Patience) withDefaults() Patience {
	return Patience{
		cmp.Or(p.Sweep, sweepEvery), cmp.Or(p.Lost, lostAfter),
		cmp.Or(p.Retry, machine.Retry), cmp.Or(p.Most, 30*time.Minute),
		cmp.Or(p.Present, wire.PresentFor), cmp.Or(p.Wait, recovery.Wait), cmp.Or(p.Outage, 2*time.Minute),
	}
}

// halt is a wait for the machine. over is set once its attempts were delivered again, until one of them ends; own reports that an
// action of the conductor failed, and then until none does.
type halt struct {
	fault           machine.Fault
	since           time.Time
	told, over, own bool
}

func (h *halt) on() bool { return h != nil && !h.over }

// outage waits for the machine.
type outage struct {
	*record

	// halt is nil while the machine lacks nothing.
	halt *halt
}

// lacks begins to wait for the machine, or continues.
func (c *outage) lacks(f machine.Fault) {
	since := c.cfg.Clock()
	if c.halt != nil {
		since = c.halt.since
	}
	same := c.halt.on() && c.halt.fault.What == f.What && c.halt.fault.Path == f.Path
	c.halt = &halt{fault: f, since: since, told: same}
}

// halted begins to wait where an action failed because of the machine: the rules propose again what was not done.
func (c *Conductor) halted(ctx context.Context, err error) error {
	if err == nil {
		if c.halt != nil && c.halt.over && c.halt.own {
			c.halt = nil
		}
		return nil
	}
	mirror := c.cfg.Mirror.Dir()
	f := machine.Of(err, mirror)
	if f == nil && errors.As(err, new(*git.ExitError)) { // git does not name every failure of a disk
		f = machine.Of(machine.Room(mirror), mirror)
	}
	if f == nil || ctx.Err() != nil {
		return err
	}
	c.cfg.Log.Warn().Err(err).Msg("the run waits for the machine")
	c.lacks(*f)
	c.halt.own = true
	return c.execute(ctx, c.announceHalt(c.st))
}

// announceHalt records why nothing more starts.
func (c *outage) announceHalt(s *run.State) []run.Action {
	if !c.halt.on() || c.halt.told {
		return nil
	}
	c.halt.told = true
	f := c.halt.fault
	if now := machine.Of(machine.Room(f.Path), ""); now != nil {
		f.Missing = now.Missing
	}
	why := fmt.Sprintf("%s%s; tried again every %s", run.ReasonHalt, f.Error(), c.cfg.Patience.Retry)
	return []run.Action{run.SetRun(run.Data{State: s.Status, Reason: why})}
}

// retry delivers again the attempts that the machine stopped, once it can run them. It is an error when that takes too long.
func (c *Conductor) retry(ctx context.Context) error {
	h := c.halt
	switch {
	case h == nil || h.over || c.pausing:
		return nil
	case c.cfg.Clock().Sub(h.since) >= c.cfg.Patience.Most:
		return fmt.Errorf("%w: %s for %s", ErrMachine, h.fault.Error(), c.cfg.Patience.Most)
	case h.fault.Path != "" && machine.Room(h.fault.Path) != nil:
		return nil
	}
	h.over = true
	if err := c.append(ctx, run.Append{Data: run.Data{State: c.st.Status}}); err != nil {
		return err
	}
	return c.sweep(ctx, time.Time{})
}

// later lets tasks run once more that waited for what their commands need. The loop wakes at least as often as a machine that
// lacks something is tried.
func (c *outage) later(s *run.State) []run.Action {
	return recovery.Again(&s.Agents, c.cfg.Clock(), c.cfg.Patience.Wait)
}

// reasonPaused is why a run that a person paused stops.
const reasonPaused = "paused by a person"

// pause dispatches nothing more and lets each active attempt reach its next turn; then the run stops. The log names a program
// that asked for it in the place of a person.
func (c *Conductor) pause(ctx context.Context, by string) error {
	if !c.pausing {
		c.pausing = true
		notice := fmt.Sprintf("%s; agents that finish their turn: %d", reasonPaused, len(c.st.Busy()))
		if wire.ByProgram(by) {
			notice += "; asked by " + by
		}
		if err := c.append(ctx, run.Append{Data: run.Data{Notices: []string{notice}}}); err != nil {
			return err
		}
		if err := c.takeBackIdle(ctx); err != nil {
			return err
		}
	}
	for _, id := range c.st.Busy() {
		c.tell(ctx, id)
	}
	return nil
}

// takeBackIdle removes from the queue the attempts that no worker runs. A running one stays there: when it is interrupted it is
// delivered again, and reaches its turn then.
func (c *queue) takeBackIdle(ctx context.Context) error {
	busy := c.st.Busy()
	for id, w := range c.st.Queue {
		if w.Outstanding() && !slices.Contains(busy, id) {
			if err := c.takeBack(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// paused stops a run that is being paused once no attempt runs.
func (c *Conductor) paused(ctx context.Context) error {
	if len(c.st.Busy()) > 0 {
		return nil
	}
	return c.stopped(ctx, reasonPaused)
}

// window is the wait of a batch for tasks that are under way. The log does not need it: a resumed run waits until the same time.
type window struct {
	until time.Time
	end   <-chan time.Time
	over  bool
}

// waiter has batches wait.
type waiter struct {
	*record

	window window
}

// early reports whether a batch still waits for tasks that are under way, and has the rules asked again when that is over. A
// clock that jumps prolongs no wait. Once the budget is spent it waits for none.
func (c *waiter) early(m landing.Merge) bool {
	if m.Window == nil || phase.Spent(&c.st.Agenda, &c.st.Agents) {
		return false
	}
	ready, _ := schedule.Ready(c.st)
	until, most := m.Window(ready)
	return !until.IsZero() && c.before(until, most)
}

// before reports whether a time is still to come, and has the rules asked again then.
func (c *waiter) before(until time.Time, most time.Duration) bool {
	if !until.Equal(c.window.until) {
		wait := min(most, until.Sub(c.cfg.Clock()))
		c.window = window{until: until, end: time.After(wait), over: wait <= 0}
	}
	return !c.window.over
}
