package agent

import (
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

// ErrNoTurn says that an attempt has not come to the turn that was asked for.
var ErrNoTurn = errors.New("there is no such turn")

// Explained is what a model saw at one turn of an attempt.
type Explained struct {
	Agent string `json:"agent"`
	// Turn counts the model's answers from 1; Turns is how many the log has. Turn may be one more: what would be sent next.
	Turn  int    `json:"turn"`
	Turns int    `json:"turns"`
	Model string `json:"model"`
	// Window is how many tokens a request may have; 0 means that it is not known.
	Window int `json:"window,omitempty"`
	// Reported is what the service said that the turn cost; nil where it has not answered.
	Reported *spec.Usage `json:"reported,omitempty"`
	contextscope.Request
	// Origins says of each part of each content which processor wrote it, and from which event.
	Origins [][]compile.Origin `json:"origins"`
	// Handles are what load_artifact takes for the events that Origins name, by their ids.
	Handles map[string]string `json:"-"`
	// Sent is the request as the model was called with it.
	Sent *model.Request `json:"-"`
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

// Turn compiles the request of one turn. 0 means the newest that was answered; one more than there are is what would be sent
// next, with no memory in it, because memory is looked up when a request is made.
func (e *Explainer) Turn(ctx context.Context, turn int) (Explained, error) {
	if turn == 0 {
		turn = max(1, e.turns)
	}
	if turn < 1 || turn > e.turns+1 {
		return Explained{}, fmt.Errorf("%s has %d turns: %w: %d", e.assignment.Agent(), e.turns, ErrNoTurn, turn)
	}
	before, answer := e.upTo(turn)
	a := e.assignment
	bounds := limit.Of(&a.Task, &a.Role, &a.Project, 0)
	s, err := restore(before)
	if err != nil {
		return Explained{}, err
	}
	tail := tailOf(s, bounds, named(a.Role.Instruction))
	if tail.Loaded, err = loaded(ctx, e.bus, s.loads); err != nil {
		return Explained{}, err
	}
	out := Explained{Agent: a.Agent(), Turn: turn, Turns: e.turns, Window: e.in.Window, Handles: e.handles()}
	said, err := out.answered(answer)
	if err != nil {
		return Explained{}, err
	}
	tail.Recall = said.Recall
	in := e.in
	in.Events, in.Tail, in.Tools = slices.Concat(in.Events, before), tail, declared(in.Tools, &e.in, s)
	out.Request, out.Origins = compile.NewCompiler().Explain(in)
	call := CallOf(a)
	out.Model, out.Sent = call.Model, call.request(out.Request, a, s.calls+1, s.limit != "")
	if s.invalid() {
		makePlain(out.Sent)
	}
	return out, nil
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

// answered takes from the turn's answer what the request had that the events before it do not say, and what the call cost.
func (x *Explained) answered(answer []contextscope.Event) (said wire.Turn, err error) {
	for i := range answer {
		switch answer[i].Kind {
		case contextscope.KindTurn:
			if err := json.Unmarshal(answer[i].Data, &said); err != nil {
				return said, fmt.Errorf("decode turn event %s: %w", answer[i].ID, err)
			}
		case contextscope.KindUsage:
			var u spec.Usage
			if err := json.Unmarshal(answer[i].Data, &u); err != nil {
				return said, fmt.Errorf("decode usage event %s: %w", answer[i].ID, err)
			}
			x.Reported = &u
			return said, nil
		}
	}
	return said, nil
}

// upTo returns the events before the turn's answer, and the answer with what follows it.
func (e *Explainer) upTo(turn int) (before, answer []contextscope.Event) {
	n := 0
	for i := range e.own {
		if e.own[i].Kind != contextscope.KindTurn {
			continue
		}
		if n++; n == turn {
			return e.own[:i], e.own[i:]
		}
	}
	return e.own, nil
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
