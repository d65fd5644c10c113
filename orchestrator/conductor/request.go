package conductor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// What another process can ask of a run's conductor.
const (
	// VerbCancel cancels the run, or one task of it.
	VerbCancel = "cancel_run"
	// VerbSend puts a message to a task's agents, or the master.
	VerbSend = "send"
	// VerbDecide answers an open decision.
	VerbDecide = "decide"
	// VerbAccept lets the held patch of a task go on; VerbSend rejects it.
	VerbAccept = "accept"
	// VerbRetry opens tasks again that were given up, VerbSkip gives tasks up as not needed.
	VerbRetry = "retry"
	VerbSkip  = "skip"
	// VerbGive hands in the patch of a person for a task.
	VerbGive = "give"
	// VerbDrop takes out what a task has landed, with the patch that undoes it.
	VerbDrop = "drop"
	// VerbGate adds a gate to the run.
	VerbGate = "gate"
	// VerbQuarantine puts a worker into quarantine.
	VerbQuarantine = "quarantine"
	// VerbPause stops the run when every agent has finished its turn.
	VerbPause = "pause"
	// VerbStopLine lets nothing be dispatched and nothing land until VerbStartLine; the process goes on.
	VerbStopLine  = "stop_line"
	VerbStartLine = "start_line"
)

// Request is what another process asks of a run's conductor.
type Request struct {
	Verb string `json:"verb"`
	// By is the identity of the person who asks; "" for the conductor's own.
	By string `json:"by,omitempty"`
	// From is the member for which a host asks; "" for this process itself.
	From string `json:"-"`
	Task string `json:"task,omitempty"`
	Text string `json:"text,omitempty"`
	// Tasks are those of retry and skip: ids, or names of templates.
	Tasks []string `json:"tasks,omitempty"`
	// Revision is what the tasks of a retry get. Plan, Roles, Project and Notices are set with it: what has changed since the run
	// read it.
	Revision run.Revision `json:"revision,omitzero"`
	Plan     *spec.Plan   `json:"plan,omitempty"`
	// Forgotten has a retry add tasks for the files that no task may change and that parked tasks fail in, and nothing else.
	Forgotten bool `json:"forgotten,omitempty"`
	// Answer is that of decide.
	Answer *run.Answer `json:"answer,omitempty"`
	// Attempt is the one that accept is meant for; 0 for the newest.
	Attempt int `json:"attempt,omitempty"`
	// Worker and Since are those of quarantine.
	Worker string    `json:"worker,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Gate is that of gate.
	Gate *spec.Gate `json:"gate,omitempty"`
	// Patch is that of give and drop; its pack is in the object store.
	Patch *spec.Patch `json:"patch,omitempty"`

	Roles   map[string]spec.Role `json:"roles,omitempty"`
	Project *spec.Project        `json:"project,omitempty"`
	Notices []string             `json:"notices,omitempty"`
	// Waits is how long the caller waits, 0 for always, and until is when that is over by the clock of this machine: a conductor
	// that comes to the request later leaves it undone, because the caller was told that it was not done, and asks again.
	Waits time.Duration `json:"waits_ns,omitempty"`
	until time.Time
}

// Reply is the conductor's answer. Text is what becomes of the request; Refused is set when it cannot be done, also when it
// is repeated.
type Reply struct {
	OK      bool   `json:"ok"`
	Text    string `json:"text,omitempty"`
	Error   string `json:"error,omitempty"`
	Refused bool   `json:"refused,omitempty"`
}

type incoming struct {
	Request
	from  string // who asks, as the bus proves
	reply func(Reply)
}

// askTimeout is how long another process waits for a conductor's answer.
const askTimeout = 10 * time.Second

// Ask puts a request to the conductor of a run, in any process, and returns its answer. The error is a
// *RefusedError where it cannot be done.
func Ask(ctx context.Context, b *bus.Bus, run string, q Request) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	end, _ := ctx.Deadline()
	q.Waits = time.Until(end) * 4 / 5 // how long the request is on its way counts too, and no clock is the same there
	data, err := json.Marshal(q)
	if err != nil {
		return "", fmt.Errorf("encode a request to run %s: %w", run, err)
	}
	raw, err := b.Request(ctx, bus.RequestSubject(run, cmp.Or(q.From, b.Me())), data)
	if err != nil {
		return "", fmt.Errorf("ask run %s to %s: %w%s", run, strings.TrimSuffix(q.Verb, "_run"), err, unanswered(ctx, err, run))
	}
	var r Reply
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", fmt.Errorf("read the answer of run %s: %w", run, err)
	}
	switch {
	case r.Refused:
		return "", &request.RefusedError{Reason: r.Error}
	case !r.OK:
		return "", fmt.Errorf("run %s: %s", run, r.Error)
	}
	return r.Text, nil
}

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

// listen passes requests to the conductor's goroutine.
func (c *Conductor) listen(ctx context.Context, asks chan<- incoming) (stop func(), err error) {
	return c.cfg.Bus.Subscribe(ctx, bus.RequestFilter(c.cfg.Run), func(m bus.Message, reply func([]byte) error) {
		still := bus.Working(ctx, reply)
		answer := func(r Reply) {
			still()
			data, err := json.Marshal(r)
			if err == nil {
				err = reply(data)
			}
			if err != nil {
				c.cfg.Log.Warn().Err(err).Str("run", c.cfg.Run).Msg("a request could not be answered")
			}
		}
		var r Request
		if err := json.Unmarshal(m.Data, &r); err != nil {
			answer(Reply{Error: fmt.Sprintf("the request is not JSON: %v", err)})
			return
		}
		if r.Waits > 0 {
			r.until = c.cfg.Clock().Add(r.Waits)
		}
		select {
		case asks <- incoming{r, c.caller(m.Subject), answer}:
		case <-ctx.Done():
			answer(Reply{Error: "the run is stopping"})
		}
	})
}

// caller is the member that asks; bus.Local where the server does not vouch for its name.
func (c *Conductor) caller(subject string) string {
	if !c.cfg.Members {
		return bus.Local
	}
	return bus.Caller(subject)
}

// answer executes a request, unless the caller has left.
func (c *Conductor) answer(ctx context.Context, r incoming) error {
	if !r.until.IsZero() && c.cfg.Clock().After(r.until) {
		r.reply(Reply{Error: "the run was busy for too long and has done nothing: ask again"})
		return nil
	}
	if r.from != bus.Local {
		r.By = wire.Vouched(r.from, r.By) // and not who the request says
	}
	text, err := c.Do(ctx, r.Request)
	if c.cfg.Asked != nil {
		c.cfg.Asked(r.from, &r.Request, err)
	}
	var no *request.RefusedError
	switch {
	case errors.As(err, &no):
		r.reply(Reply{Error: no.Reason, Refused: true})
		return nil
	case err != nil:
		r.reply(Reply{Error: err.Error()})
		return err
	}
	r.reply(Reply{OK: true, Text: text})
	return nil
}

// Do does what a person asks, and returns what becomes of it. It is for a conductor that does not run.
func (c *Conductor) Do(ctx context.Context, q Request) (string, error) {
	if q.By = cmp.Or(q.By, c.cfg.Person); !wire.IsPerson(q.By) {
		return "", request.Refusedf("the author %.40q of the request is no person", q.By)
	}
	switch q.Verb {
	case VerbCancel:
		reason := cmp.Or(q.Text, "cancelled by a person")
		if err := request.Over(c.st); err != nil {
			return "", err
		}
		if q.Task == "" {
			return "the run is cancelled", c.cancel(ctx, reason, q.By)
		}
		actions, err := request.Cancel(c.st, q.Task, reason, q.By)
		if err != nil {
			return "", err
		}
		return q.Task + " is cancelled", c.execute(ctx, actions)
	case VerbSend, VerbDecide, VerbAccept:
		return c.act(ctx)(c.decides(ctx, q))
	case VerbRetry:
		return c.tryAgain(ctx, q)
	case VerbSkip:
		actions, skipped, err := request.Skip(c.st, q.Tasks, run.Revision{By: q.By},
			strings.TrimSuffix("by a person: "+q.Text, ": "))
		if err != nil {
			return "", err
		}
		return "skipped: " + text.Some(skipped, maxNamed), c.execute(ctx, actions)
	case VerbGive:
		return c.act(ctx)(request.Give(c.st, q.Task, q.Patch, q.By))
	case VerbDrop:
		return c.act(ctx)(request.Drop(c.st, q.Task, q.Patch, q.Text, q.By))
	case VerbGate:
		if q.Gate == nil {
			return "", request.Refusedf("the request has no gate")
		}
		return c.act(ctx)(request.Gate(c.st, *q.Gate, q.By))
	case VerbQuarantine:
		return c.isolate(ctx, run.Quarantine{Worker: q.Worker, Since: q.Since, By: q.By})
	case VerbPause:
		n, err := c.pause(ctx, q.By)
		return "pausing after the current turn of " + text.Count(n, "active agent"), err
	case VerbStopLine, VerbStartLine:
		return c.line(ctx, q)
	default:
		return "", request.Refusedf("unknown request %.40q", q.Verb)
	}
}

// act executes what a rule proposes for a request, and returns its outcome.
func (c *Conductor) act(ctx context.Context) func(actions []run.Action, outcome string, err error) (string, error) {
	return func(actions []run.Action, outcome string, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return outcome, c.execute(ctx, actions)
	}
}

// decides is what a person decides, or writes to an agent.
func (c *Conductor) decides(ctx context.Context, q Request) (actions []run.Action, outcome string, err error) {
	a := run.Answer{Attempt: q.Attempt, Text: q.Text, By: q.By}
	switch {
	case q.Verb == VerbAccept:
		a.Option = run.Accept
	case q.Verb == VerbSend:
	case q.Answer == nil:
		return nil, "", request.Refusedf("the request has no answer")
	case q.Answer.Back:
		return decision.TakeBack(c.st, q.Answer.ID, q.By)
	default:
		a = *q.Answer
		a.By, a.Standing = q.By, ""
		if a.Alike {
			return c.stand(ctx, a)
		}
		return decision.Take(c.st, a)
	}
	actions, outcome, err = decision.TakeAbout(c.st, cmp.Or(q.Task, run.MasterTask), a)
	switch {
	case len(actions) > 0 || err != nil:
	case q.Verb == VerbSend:
		return request.Send(c.st, q.Task, q.Text, q.By)
	default:
		outcome = "the patch of " + q.Task + " goes on"
		actions, err = request.Accept(c.st, q.Task, a) // which tells why not
	}
	return actions, outcome, err
}

// maxNamed bounds the tasks that an answer names.
const maxNamed = 12

// cancel cancels the run: nothing of it is dispatched again, and its queue is emptied. The log names a program that asked for
// it in the place of a person.
func (c *Conductor) cancel(ctx context.Context, reason, by string) error {
	d := run.Data{State: run.Cancelled, Reason: reason}
	if wire.ByProgram(by) {
		d.Notices = []string{"cancelled by " + by}
	}
	if err := c.append(ctx, run.Append{Data: d}); err != nil {
		return err
	}
	return c.cfg.Bus.Purge(ctx, bus.TaskFilter(c.cfg.Run))
}

// ErrHostStops is the cause of a context that ends because the host that conducts the run is stopped: the run says so, and the
// next host goes on with it.
var ErrHostStops = errors.New("the host that conducts the run was stopped")

// ErrDisowned is the cause of a context that ends because the server does not admit any more who signed the run.
var ErrDisowned = errors.New("the server does not admit the person any more who signed the run; another person can resume it")

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
