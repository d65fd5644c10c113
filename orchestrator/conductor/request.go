package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"divisi/bus"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// incoming is a request on its way to the conductor's goroutine, and to the answer that is waited for.
type incoming struct {
	act.Request

	from  string    // who asks, as the bus proves
	until time.Time // when the caller waits no longer, by the clock of this machine
	reply chan<- outcome
}

type outcome struct {
	act.Outcome

	err error
}

// askTimeout is how long another process waits for a conductor's answer.
const askTimeout = 10 * time.Second

// Ask puts a request to the conductor of a run, in any process, and returns its answer. The error is a
// *RefusedError where it cannot be done.
func Ask(ctx context.Context, b *bus.Bus, run string, q act.Request) (act.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	line := call.To(b, bus.RequestSubject(run, cmp.Or(q.From, b.Me())))
	line.Once = true
	line.Wrap = func(err error) error {
		var e *call.Error
		switch {
		case !errors.As(err, &e):
			return fmt.Errorf("ask run %s to %s: %w%s", run, q.Act, err, unanswered(ctx, err, run))
		case e.Class == call.Refused:
			return &request.RefusedError{Reason: e.Text}
		}
		return fmt.Errorf("run %s: %w", run, e)
	}
	for end, _ := ctx.Deadline(); ; {
		q.Waits = time.Until(end) * 4 / 5 // how long the request is on its way counts too, and no clock is the same there
		out, err := call.Ask(ctx, line, call.ConductorAct, call.Head{Run: run}, q)
		if call.ClassOf(err) != call.Again {
			return out, err
		}
		select {
		case <-time.After(placePause):
		case <-ctx.Done():
			return out, err
		}
	}
}

// placePause is after how long a request is made again for which there was no place. It says again how long its caller waits.
const placePause = 100 * time.Millisecond

// unanswered returns what may have become of a request without an answer, and what to do; "" where it cannot have arrived.
func unanswered(ctx context.Context, err error, run string) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf(": the run is busy, and does nothing that it had not started by now: "+
			"see the report of run %s, then ask again", run)
	case ctx.Err() != nil, errors.Is(err, bus.ErrNoAnswer):
		return fmt.Sprintf(": it may still be done: see the report of run %s before you ask again", run)
	}
	return ""
}

var errStopping = errors.New("the run is stopping")

// listen passes requests to the conductor's goroutine, until stop, which is called when that has ended.
func (c *Conductor) listen(ctx context.Context, asks chan<- incoming) (stop func(), err error) {
	pass := func(c *Conductor, stopped context.Context, in *call.In, q *act.Request) (out act.Outcome, err error) {
		done := make(chan outcome, 1)
		r := incoming{Request: *q, from: c.cfg.Caller(in.Subject), reply: done}
		if r.Waits > 0 {
			r.until = c.cfg.Clock().Add(r.Waits)
		}
		select {
		case asks <- r:
		case <-stopped.Done():
			return out, errStopping
		}
		select {
		case o := <-done:
			return o.Outcome, o.err
		case <-stopped.Done(): // the conductor has ended: what it has not answered by now it does not answer
		}
		select {
		case o := <-done:
			return o.Outcome, o.err
		default:
			return out, errStopping
		}
	}
	d := call.Answerer[*Conductor]{
		Table: call.TableOf(call.On(call.ConductorAct, pass)), As: c, Bus: c.cfg.Bus, Log: c.cfg.Log, Pace: &call.Pace{},
		Refused: func(in *call.In, err error) {
			if !in.Checked && call.ClassOf(err) != call.Again && c.cfg.Asked != nil {
				c.cfg.Asked(c.cfg.Caller(in.Subject), &act.Request{Act: in.Name}, err)
			}
		},
	}
	return d.Listen(context.WithoutCancel(ctx), bus.RequestFilter(c.cfg.Run))
}

// answer executes a request, unless the caller has left. What is refused is no error of the conductor.
func (c *Conductor) answer(ctx context.Context, r incoming) error {
	if !r.until.IsZero() && c.cfg.Clock().After(r.until) {
		r.reply <- outcome{err: errors.New("the run was busy for too long and has done nothing: ask again")}
		return nil
	}
	who := act.Local
	if r.from != bus.Local {
		who, r.By = act.Owner, wire.Vouched(r.from, r.By) // and not who the request says
	}
	var out act.Outcome
	a, err := r.Read(who)
	if err == nil {
		if r.Held {
			a = act.ByHand(a)
		}
		out, err = c.Do(ctx, a, r.By)
	}
	if c.cfg.Asked != nil {
		c.cfg.Asked(r.from, &r.Request, err)
	}
	r.reply <- outcome{out, err}
	if errors.As(err, new(*request.RefusedError)) {
		return nil
	}
	return err
}

// Do does what a person asks, "" for the one at the terminal of this process, and returns what becomes of it. It is for a
// conductor that does not run.
func (c *Conductor) Do(ctx context.Context, a act.Args, by string) (out act.Outcome, err error) {
	if by = cmp.Or(by, c.cfg.Person); !wire.IsPerson(by) {
		return out, request.Refusedf("the author %.40q of the request is no person", by)
	}
	actions, out, err := act.Propose(ctx, hands{c}, c.st, a, by)
	if err != nil {
		return out, err
	}
	if err = c.execute(ctx, actions); errors.Is(err, bus.ErrTooLarge) { // of its one message, without which nothing is done
		err = request.Refusedf("%s is too large for one message of the log, and nothing of it was done: name fewer tasks, or "+
			"write a shorter text", a.Act())
	}
	return out, err
}

// carry acts on the answers that are not held back.
func (c *Conductor) carry(s *run.State) []run.Action { return decision.Carry(s, c.holdClock()) }

// holdClock is the time by which answers are held back. It runs on where the machine's clock is put back, and is
// caught up with where that was before.
func (c *Conductor) holdClock() time.Time {
	if c.began.IsZero() {
		c.began = c.cfg.Clock()
	}
	now := c.began.Add(c.cfg.Clock().Sub(c.began))
	c.ahead += c.st.Decisions.Ahead(now.Add(c.ahead))
	return now.Add(c.ahead)
}

// due is when the first answer is no longer held back; nil while none is.
func (c *Conductor) due() <-chan time.Time {
	_, wait := c.st.Decisions.Next(c.holdClock())
	if wait == 0 {
		return nil
	}
	return time.After(wait)
}

// hands give acts access to the conductor.
type hands struct{ *Conductor }

// Now implements act.Hands.
func (h hands) Now() time.Time { return h.holdClock() }

// Tree implements act.Hands.
func (h hands) Tree() plan.Tree { return h.cfg.Tree(h.st.Tip(), h.st.Environment()) }

// Signed implements act.Hands.
func (h hands) Signed() bool { return h.cfg.Ordered }

// Isolate implements act.Hands.
func (h hands) Isolate(ctx context.Context, q run.Quarantine) (string, error) {
	return h.isolate(ctx, q)
}

// Shape implements act.Hands.
func (h hands) Shape(ctx context.Context, id string) (string, error) {
	open := decision.Patches(h.st)
	if at := slices.IndexFunc(open, func(d run.Decision) bool { return d.ID == id }); at >= 0 {
		if err := h.shape(ctx, &open[at]); err != nil {
			return "", err
		}
	}
	return h.shapes[id], nil
}

// ErrHostStops is the cause of a context that ends because the host that conducts the run is stopped: the run says so, and the
// next host continues with it.
var ErrHostStops = errors.New("the host that conducts the run was stopped")

// ErrDisowned is the cause of a context that ends because the server does not admit any more who signed the run.
var ErrDisowned = errors.New("the person who signed the run was revoked; another person can resume it")

// ErrSignal is the cause of a context that ends because of a signal that no person has sent from the keyboard.
var ErrSignal = errors.New("stopped by a signal")

// ErrWorker is the cause of a context that ends because the half of the process that works has failed.
var ErrWorker = errors.New("the worker of this process failed")

// interrupted leaves the run for resume when the process is asked to stop.
func (c *Conductor) interrupted(ctx context.Context) error {
	reason := "stopped by a person"
	for _, cause := range []error{ErrHostStops, ErrDisowned, ErrSignal, ErrWorker, bus.ErrFull} {
		if errors.Is(context.Cause(ctx), cause) {
			reason = cause.Error()
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return c.stopped(ctx, reason)
}

// stopTimeout bounds what a stopping conductor still writes, so that Ctrl-C ends within five seconds.
const stopTimeout = 2 * time.Second

// failTimeout bounds what a conductor that has failed still writes: with a full store its host could not stop.
const failTimeout = 30 * time.Second

func (c *Conductor) stopped(ctx context.Context, reason string) error {
	if c.st.Status.Ended() {
		return nil
	}
	return c.execute(ctx, []run.Action{run.Stop(reason)})
}
