package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/toolset"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
)

// maxYield is up to which delivery the time grows in which a proof is left to workers of another environment.
const maxYield = 24

// settleTime bounds what is still said to the bus about a delivery when the worker stops.
const settleTime = 2 * time.Second

// errHalted reports that the machine lacks something: the conductor gives the attempt out again when that is over.
var errHalted = errors.New("the machine cannot carry it out now")

// errForeign reports that another worker is to prove it: one of another environment, or that has not proven the same before.
var errForeign = errors.New("it is left to another worker")

// errUnread reports that the log of an attempt could not be read soon enough to begin it: its conductor may be away.
var errUnread = errors.New("its log did not arrive in time")

// errBadMessage reports that a message is no assignment that anybody could execute.
var errBadMessage = errors.New("not an assignment")

// errOutdated reports that a message is of a conductor whose setup this worker has not begun with yet.
var errOutdated = errors.New("another setup of the run has begun")

// errUnsigned reports that the conductor of the run has not put a message on the queue.
var errUnsigned = fmt.Errorf("%w: a forged message", errBadMessage)

// deliver keeps a delivery alive, has it executed and tells the bus what became of it. admitted is closed as soon as there
// is room, or never will be.
func (w *Worker) deliver(ctx context.Context, d *bus.Delivery, place *permit, admitted chan<- struct{}) {
	log := w.cfg.Log.With().Str("task", d.ID).Int("delivery", d.Number).Logger()
	stopBeating := w.heartbeat(ctx, d, log)
	ok := place.take(ctx)
	close(admitted)
	err := context.Cause(ctx)
	if ok {
		err = w.carryOut(ctx, d, place, log)
		place.leave()
	}
	stopBeating()
	if err := w.settle(ctx, d, err, log); err != nil {
		log.Warn().Err(err).Msg("could not acknowledge the delivery; it will be redelivered")
	}
}

// mark notes that a delivery is at work, or no more. One that has not begun is not at work.
func (w *Worker) mark(d *bus.Delivery, at bool) {
	name := d.Subject[strings.LastIndexByte(d.Subject, '.')+1:]
	w.mu.Lock()
	defer w.mu.Unlock()
	if at {
		w.active[name] = true
	} else {
		delete(w.active, name)
	}
}

// settle tells the bus what became of a delivery. An attempt without a result leaves the queue: the conductor compares queue and
// log, and puts it there again.
func (w *Worker) settle(ctx context.Context, d *bus.Delivery, err error, log zerolog.Logger) error {
	stopping := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	switch {
	case err == nil:
		return d.Ack(ctx)
	case errors.Is(err, bus.ErrFenced):
		log.Info().Msg("another delivery took this attempt over")
		return nil
	case errors.Is(err, wire.ErrWithheld): // it has ended, as an acknowledgement that was lost leaves it
		log.Info().Err(err).Msg("an attempt cannot be read")
		return d.Term(ctx, err.Error())
	case errors.Is(err, errBadMessage):
		log.Error().Err(err).Msg("a message was thrown away")
		return d.Term(ctx, err.Error())
	case errors.Is(err, agent.ErrStopped), errors.Is(err, errHalted):
		return d.Term(ctx, err.Error())
	case errors.Is(err, errOutdated):
		log.Info().Msg("an attempt is left to the setup that has begun")
		return d.NakAfter(ctx, w.cfg.AckWait/12)
	case errors.Is(err, errForeign), errors.Is(err, errUnread): // who can carry it out may have no place free, or not be there
		return d.NakAfter(ctx, w.cfg.AckWait/3*time.Duration(min(d.Number, maxYield)))
	case stopping:
		return d.Nak(ctx)
	}
	log.Error().Err(err).Msg("attempt failed unexpectedly")
	if errors.Is(err, bus.ErrFull) && w.cfg.Full != nil {
		w.cfg.Full(err)
	}
	w.mu.Lock()
	w.broken[d.Subject]++
	w.mu.Unlock()
	return d.Term(ctx, err.Error())
}

// heartbeat shows the bus and the conductor signs of life until the returned function is called, which waits for the goroutine.
func (w *Worker) heartbeat(ctx context.Context, d *bus.Delivery, log zerolog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(w.cfg.AckWait / 3)
		defer tick.Stop()
		active, level := bus.ActiveSubject(strings.Split(d.Subject, ".")[2]), zerolog.WarnLevel
		for {
			back := w.cfg.Bus.Back()
			err := errors.Join(d.InProgress(ctx), w.cfg.Bus.Publish(ctx, active, []byte(d.Subject)))
			if err != nil && ctx.Err() == nil {
				log.WithLevel(level).Err(err).Msg("heartbeat failed")
				level = zerolog.DebugLevel // a server can be away for long
			} else {
				level = zerolog.WarnLevel
			}
			select {
			case <-tick.C:
			case <-back:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// assignment reads a delivery's assignment. The message names the object that was sealed when the attempt was dispatched.
func (w *Worker) assignment(ctx context.Context, d *bus.Delivery) (*wire.Assignment, error) {
	a, err := decodeAssignment(d.Data)
	if err != nil {
		return a, err
	}
	sealed := a
	if w.cfg.Conductor != nil {
		if err := a.Signed(w.cfg.Conductor); err != nil {
			return nil, fmt.Errorf("%w of %s: %w", errUnsigned, a.Agent(), err)
		}
	}
	if a.Object != "" {
		sealed, err = wire.Unseal(ctx, w.cfg.Bus, a.Object)
	}
	if err == nil && (sealed.Run != a.Run || sealed.Agent() != a.Agent()) {
		err = wire.ErrSeal
	}
	if err == nil {
		err = w.accept(sealed)
	}
	if errors.Is(err, bus.ErrNotFound) || errors.Is(err, wire.ErrSeal) {
		err = fmt.Errorf("%w: %w", errBadMessage, err)
	}
	if err != nil {
		return nil, fmt.Errorf("get the assignment of %s: %w", a.Agent(), err)
	}
	return sealed, nil
}

// outdated returns why what is bad by the setup of this worker is not thrown away: the conductor may be another one by now.
func (w *Worker) outdated(ctx context.Context, bad error) error {
	if !errors.Is(bad, errBadMessage) || w.cfg.Outdated == nil {
		return nil
	}
	reading, stop := context.WithTimeoutCause(ctx, w.patience, errUnread)
	defer stop()
	switch newer, err := w.cfg.Outdated(reading); {
	case err != nil:
		return errors.Join(errUnread, err)
	case newer:
		return errOutdated
	}
	return nil
}

// accept refuses what the owner of the machine, or the person who began the run, has not agreed to.
func (w *Worker) accept(a *wire.Assignment) error {
	if err := w.cfg.Accept(a); err != nil {
		return fmt.Errorf("%w: this worker does not carry it out: %w", errBadMessage, err)
	}
	return nil
}

func decodeAssignment(data []byte) (*wire.Assignment, error) {
	var a wire.Assignment
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadMessage, err)
	}
	if a.Run == "" || a.Task.ID == "" || a.Attempt < 1 || a.Object == "" && a.Role.Name == "" {
		return nil, fmt.Errorf("%w: run, task, attempt or role is missing", errBadMessage)
	}
	return &a, nil
}

// carryOut brings one delivery to its result in the log. A nil error means that the result is there, from this worker or another.
func (w *Worker) carryOut(ctx context.Context, d *bus.Delivery, place *permit, log zerolog.Logger) error {
	a, bad := w.assignment(ctx, d)
	if err := w.outdated(ctx, bad); err != nil {
		return err
	}
	if errors.Is(bad, errBadMessage) && !errors.Is(bad, errUnsigned) { // one who forges ends no attempt
		a = addressed(d.Subject)
	}
	if a == nil || a.Attempt < 1 {
		return bad
	}
	at, err := w.begin(ctx, d, a, log)
	if at == nil {
		return err
	}
	w.mark(d, true)
	defer w.mark(d, false)
	n := w.deliveries(d, at)
	result := poison(n)
	switch {
	case bad != nil:
		result = wire.Failed(wire.FaultAssignment, bad.Error(), "")
	case n <= maxDeliveries:
		at.place = place
		result, err = w.run(ctx, at)
	}
	return w.end(ctx, at, result, err)
}

// begin opens the journal of an attempt and appends that this delivery has begun. Where its result is in the log already there is
// neither an attempt nor an error. What has to be read for that may take as long as patience: a server takes tasks from a worker
// that holds them and begins none.
func (w *Worker) begin(ctx context.Context, d *bus.Delivery, a *wire.Assignment, log zerolog.Logger) (*attempt, error) {
	stamp := journal.Stamp{Worker: w.cfg.Name, Clock: w.cfg.Clock, IDs: w.cfg.IDs}
	reading, stop := context.WithTimeoutCause(ctx, w.patience, errUnread)
	defer stop()
	j, err := journal.Open(reading, w.cfg.Events(a), w.cfg.Bus, a, stamp)
	if err != nil {
		return nil, err
	}
	had, err := j.Result()
	if err != nil || had != nil {
		return nil, err
	}
	newest, worked, err := j.Deliveries()
	if err != nil {
		return nil, err
	}
	asked, err := toolset.OpenRequests(reading, w.cfg.Events(a), j, a)
	if err != nil {
		return nil, err
	}
	a.Delivery = max(d.Number, newest+1)
	began := w.cfg.Clock()
	started := wire.Started{Delivery: a.Delivery, Time: began, Notes: w.notes(reading, a, log)}
	if _, err := j.Append(ctx, wire.Draft(contextscope.KindStarted, started)); err != nil {
		return nil, err
	}
	log = log.With().Str("agent", a.Agent()).Logger()
	return &attempt{worker: w, assignment: a, journal: j, requests: asked, began: began, worked: worked, log: log}, nil
}

// deliveries counts how often an attempt was dispatched, with those that broke off here. On a queue that others take from as well
// the bus counts what was handed back, and not what a conductor has dispatched again: there the log tells.
func (w *Worker) deliveries(d *bus.Delivery, at *attempt) int {
	if w.cfg.Places != nil {
		return at.journal.Lost()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return d.Number + w.broken[d.Subject]
}

// end appends the result of an attempt, or what comes of what broke it off.
func (w *Worker) end(ctx context.Context, at *attempt, r spec.Result, err error) error {
	if errors.Is(err, errForeign) {
		stop := wire.Draft(contextscope.KindControl, wire.Nudge{Reason: wire.ReasonStopped, Class: wire.FaultForeign})
		_, told := at.journal.Append(ctx, stop)
		return errors.Join(err, told)
	}
	if err != nil {
		if r, err = w.brokenOff(ctx, at.journal, err); err != nil {
			return err
		}
	} else if w.cfg.Broke != nil {
		w.cfg.Broke(nil)
	}
	r.Queued, r.Slot, r.Git = at.queued, at.slotted, at.saved
	return w.conclude(ctx, at.assignment, at.journal, r, w.cfg.Clock().Sub(at.began))
}

// addressed is the attempt in the subject of a message that is not an assignment; nil where it says nothing.
func addressed(subject string) *wire.Assignment {
	t := strings.Split(subject, ".") // task.<role>.<run>.<task>--<attempt>
	dash := strings.LastIndex(t[len(t)-1], "--")
	if len(t) != 4 || dash < 1 {
		return nil
	}
	n, _ := strconv.Atoi(t[3][dash+2:]) // 0 makes no attempt either
	return &wire.Assignment{Run: t[2], Task: spec.Task{ID: t[3][:dash]}, Attempt: n, Role: spec.Role{Name: t[1]}}
}

// conclude appends the result. One that is too large for the log is replaced by a fault that says so.
func (w *Worker) conclude(ctx context.Context, a *wire.Assignment, j *journal.Journal, r spec.Result, took time.Duration) error {
	usage, err := j.Usage()
	if err != nil {
		return err
	}
	// A clock that was set back is not the attempt's fault.
	r.Task, r.Attempt, r.Delivery, r.Usage, r.Took = a.Task.ID, a.Attempt, a.Delivery, usage, max(0, took)
	if problems := r.Validate(); len(problems) > 0 {
		r = broken(r, fmt.Sprintf("the result is not well formed: %s", problems[0].String()))
	}
	_, err = j.Append(ctx, wire.Draft(contextscope.KindResult, r))
	if errors.Is(err, bus.ErrTooLarge) {
		_, err = j.Append(ctx, wire.Draft(contextscope.KindResult, broken(r, "the result is too large for the log")))
	}
	return err
}

// broken is the remainder of a result that cannot be stored.
func broken(r spec.Result, why string) spec.Result {
	f := wire.Failed(wire.FaultInternal, why, "")
	f.Task, f.Attempt, f.Delivery, f.Usage, f.Took = r.Task, r.Attempt, r.Delivery, r.Usage, r.Took
	return f
}

func poison(deliveries int) spec.Result {
	why := fmt.Sprintf("delivered %d times; the worker died each time", deliveries-1)
	return wire.Failed(wire.FaultInternal, why, "")
}

// run carries an attempt out under its control messages.
func (w *Worker) run(ctx context.Context, at *attempt) (r spec.Result, err error) {
	ctx, leave, err := w.attend(ctx, at)
	if err != nil {
		return r, err
	}
	defer leave()
	return at.guarded(ctx)
}

// attend has an attempt hear its control messages until leave is called. They may end its context.
func (w *Worker) attend(ctx context.Context, at *attempt) (_ context.Context, leave func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	at.inbox = agent.NewInbox(cancel)
	deaf, err := w.router.open(ctx, w.cfg.Events(at.assignment), at.assignment, at.inbox)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	t := newTeller(func(e contextscope.Event) {
		if _, err := at.journal.Append(ctx, e); err != nil {
			cancel(err)
		}
	})
	at.progress = &progress{clock: w.cfg.Clock, last: w.cfg.Clock(), append: t.tell}
	return ctx, func() { deaf(); at.progress.close(); t.wait(); cancel(nil) }, nil
}

// guarded carries an attempt out. A panic in it is a failed attempt, with its stack in the log.
func (at *attempt) guarded(ctx context.Context) (r spec.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			at.log.Error().Bytes("stack", debug.Stack()).Msgf("an attempt panicked: %v", p)
			r, err = wire.Failed(wire.FaultInternal, strings.ToValidUTF8(fmt.Sprintf("panic: %v", p), "?"), ""), nil
		}
	}()
	return at.carryOut(model.WithNotes(model.WithObserver(ctx, at.progress.waits), at.note(ctx)))
}
