package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/limit"
	"divisi/subagents/wire"
)

// ErrNoTurn reports that an attempt has not come to the turn that was asked for.
var ErrNoTurn = errors.New("there is no such turn")

// Explained is the view of a model at one turn of an attempt.
type Explained struct {
	Agent string `json:"agent"`
	// Turn counts the model's answers from 1; Turns is how many the log has. Turn may be one more: a call without an answer, or
	// what would be sent next.
	Turn  int `json:"turn"`
	Turns int `json:"turns"`
	// Model is the one that answered, which can be a fallback, else the one that is asked first.
	Model string `json:"model"`
	// Window is how many tokens a request may have; 0 means that it is not known.
	Window int `json:"window,omitempty"`
	// Reported is the cost of the turn as the service reported it; nil where it has not answered. Fault is why the last call of
	// an attempt that has ended has no answer.
	Reported *spec.Usage `json:"reported,omitempty"`
	Fault    *spec.Fault `json:"fault,omitempty"`
	contextscope.Request
	// Origins says of each part of each content which processor wrote it, and from which event.
	Origins [][]compile.Origin `json:"origins"`
	// Handles are the arguments of load_artifact for the events that Origins name, by their ids.
	Handles map[string]string `json:"-"`
	// Sent is the request as the client of the models was called with it, Answered as the model was sent it that answered.
	Sent     *model.Request `json:"-"`
	Answered *model.Request `json:"-"`
}

// Explainer compiles requests of one attempt again, from the same log and the same assignment: compiling is a function, so it
// is what was sent.
type Explainer struct {
	bus        *bus.Bus
	assignment *wire.Assignment
	in         compile.Input
	// own are the attempt's events, numbered like those before them; turns counts the model's answers among them.
	own   []contextscope.Event
	turns int
}

// NewExplainer explains the attempt of an assignment: in is what every request shares, events the attempt's own.
func NewExplainer(b *bus.Bus, a *wire.Assignment, in compile.Input, events []contextscope.Event) *Explainer {
	e := &Explainer{bus: b, assignment: a, in: in}
	var offset int
	e.in.Events, offset = sequence(in.Events)
	e.own = shifted(events, offset)
	for i := range e.own {
		if e.own[i].Kind == contextscope.KindTurn {
			e.turns++
		}
	}
	return e
}

// Turn compiles the request of one turn. 0 means the newest that was answered. One more than there are is the last call of an
// attempt that has ended, where that failed, or of one that goes on what would be sent next: with no memory in it, because memory
// is looked up when a request is made.
func (e *Explainer) Turn(ctx context.Context, turn int) (Explained, error) {
	if turn == 0 {
		turn = max(1, e.turns)
	}
	if turn < 1 || turn > e.turns+1 {
		return Explained{}, fmt.Errorf("%s has %d turns: %w: %d", e.assignment.Agent(), e.turns, ErrNoTurn, turn)
	}
	c, err := e.call(turn)
	if err != nil {
		return Explained{}, err
	}
	a := e.assignment
	bounds := limit.Of(&a.Task, &a.Role, &a.Project, 0)
	s, err := restore(c.before)
	if err != nil {
		return Explained{}, err
	}
	tail := tailOf(s, bounds, named(a.Role.Instruction))
	if tail.Loaded, err = loaded(ctx, e.bus, s.loads); err != nil {
		return Explained{}, err
	}
	tail.Recall = c.turn.Recall
	in := e.in
	in.Events, in.Tail, in.Tools = slices.Concat(in.Events, c.before), tail, declared(in.Tools, &e.in, s)
	out := Explained{Agent: a.Agent(), Turn: turn, Turns: e.turns, Window: e.in.Window, Fault: c.fault, Handles: e.handles()}
	out.Request, out.Origins = compile.NewCompiler().Explain(in)
	out.Sent = CallOf(a).request(out.Request, a, s.calls+1, s.limit != "")
	if s.invalid() {
		makePlain(out.Sent)
	}
	out.answered(&c)
	return out, nil
}

// answered reports which model answered a call, and what it was sent.
func (x *Explained) answered(c *explainedCall) {
	x.Model, x.Answered = x.Sent.Model, x.Sent
	if c.spent == nil {
		return
	}
	x.Reported = &c.spent.Usage
	by := model.Candidate{Model: cmp.Or(c.spent.Model, x.Sent.Model), Tier: c.spent.Tier}
	for _, f := range x.Sent.Fallback {
		if f.Model == by.Model && f.Tier == by.Tier {
			by, x.Window = f, cmp.Or(f.Window, x.Window)
			break
		}
	}
	x.Model, x.Answered = by.Model, x.Sent.For(by)
	if c.turn.Unsigned {
		x.Answered.Contents = model.StripSignatures(x.Answered.Contents)
	}
}

// handles names the events of the conversation the way load_artifact takes them, by their ids.
func (e *Explainer) handles() map[string]string {
	handles := make(map[string]string, len(e.in.Events)+len(e.own))
	for _, events := range [][]contextscope.Event{e.in.Events, e.own} {
		for i := range events {
			handles[events[i].ID] = contextscope.EventHandle(events[i].Seq)
		}
	}
	return handles
}

// explainedCall is the record of one model call in the log: the events before it, what its answer has of the request beside them,
// and what it cost. spent is nil for a call without an answer, fault is why it has none where the log tells.
type explainedCall struct {
	before []contextscope.Event
	turn   wire.Turn
	spent  *wire.Spent
	fault  *spec.Fault
}

// call finds the call of a turn, which may be one more than were answered.
func (e *Explainer) call(turn int) (c explainedCall, err error) {
	n, failed, ended := 0, -1, false
	for i := range e.own {
		switch e.own[i].Kind {
		case contextscope.KindTurn:
			if n++; n == turn {
				c.before = e.own[:i]
				return c, c.answer(e.own[i:])
			}
			failed = -1
		case contextscope.KindError:
			failed = i
		case contextscope.KindResult:
			ended = true
		}
	}
	switch {
	case !ended:
		c.before = e.own
		return c, nil
	case failed < 0:
		return c, fmt.Errorf("%s has ended after %d turns: %w: %d; unanswered requests are not in the log",
			e.assignment.Agent(), n, ErrNoTurn, turn)
	}
	c.before = e.own[:failed]
	return c, decode(&e.own[failed], func(d wire.Unanswered) { c.turn.Recall, c.fault = d.Recall, &d.Fault })
}

// answer takes from an answer, and from what follows it, what is said of its call.
func (c *explainedCall) answer(events []contextscope.Event) error {
	if err := decode(&events[0], func(t wire.Turn) { c.turn = t }); err != nil {
		return err
	}
	for i := range events[1:] {
		if e := &events[1+i]; e.Kind == contextscope.KindUsage {
			return decode(e, func(s wire.Spent) { c.spent = &s })
		}
	}
	return nil
}

// Compacted is one compaction of an attempt's session.
type Compacted struct {
	// Event is the compaction event's id, Seq its number, Turn the turn before which it stands.
	Event string `json:"event"`
	Seq   int    `json:"seq"`
	Turn  int    `json:"turn"`
	contextscope.Compaction
}

// Compactions lists what stands for ranges of the attempt's session, oldest first, the failed ones too.
func (e *Explainer) Compactions() ([]Compacted, error) {
	var out []Compacted
	turn := 1
	for i := range e.own {
		switch e.own[i].Kind {
		case contextscope.KindTurn:
			turn++
		case contextscope.KindCompaction:
			c := Compacted{Event: e.own[i].ID, Seq: e.own[i].Seq, Turn: turn}
			if err := json.Unmarshal(e.own[i].Data, &c.Compaction); err != nil {
				return nil, fmt.Errorf("decode compaction event %s: %w", c.Event, err)
			}
			out = append(out, c)
		}
	}
	return out, nil
}
