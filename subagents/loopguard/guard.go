package loopguard

import (
	"divisi/internal/spec"
)

// Guard watches one agent. It is for one goroutine.
//
// A turn of the model is any number of Text, Thought and Call, then EndTurn, then a Result for each call in their order. A
// Result ends the turn as well; whatever the model says next begins a new one, and ends the wait for results.
type Guard struct {
	text, thought stream
	calls         calls
	judge         schedule
	// ended reports that the model's turn is over, and that results may come.
	ended   bool
	strikes int
	// stopped is the last strike. It is never taken back but by a new task.
	stopped *Strike
}

// New makes the guard of an agent that has done nothing yet.
func New() *Guard { return &Guard{judge: newSchedule()} }

// Prompt begins a new task: everything is forgotten, strikes too. A steering message is none; it is not told to a guard.
func (g *Guard) Prompt() {
	text, thought := g.text.windows, g.thought.windows
	text.clear()
	thought.clear()
	*g = Guard{text: stream{windows: text}, thought: stream{windows: thought}, judge: newSchedule()}
}

// Text takes a piece of what the model says. Pieces may be cut anywhere, inside a character too. After a strike the piece is
// read up to Strike.At only. Once an agent is stopped, every answer is the strike that stopped it.
func (g *Guard) Text(chunk string) *Strike { return g.say(&g.text, KindText, chunk) }

// Thought is Text for what the model thinks.
func (g *Guard) Thought(chunk string) *Strike { return g.say(&g.thought, KindThought, chunk) }

func (g *Guard) say(s *stream, kind, chunk string) *Strike {
	if chunk == "" || g.stopped != nil {
		return g.stopped
	}
	g.begin()
	at, found := s.read(chunk)
	if !found {
		return nil
	}
	strike := g.strike(kind, s.repetition())
	strike.At = at
	return strike
}

// Call takes a call before it runs. After a strike it must not run; a result of it, such as the refusal, may follow in its
// place among the results of the turn.
func (g *Guard) Call(name string, args map[string]any) *Strike {
	if g.stopped != nil {
		return g.stopped
	}
	g.begin()
	if args == nil {
		args = map[string]any{}
	}
	what := digestOf(name, args)
	g.mark(what)
	period := g.calls.add(name, what)
	switch period {
	case 0:
		return nil
	case 1, frequent:
		return g.strike(KindCall, g.calls.loop(period, shown(spec.JSONText(args), maxShown)))
	default:
		return g.strike(KindCycle, g.calls.loop(period, ""))
	}
}

// Result takes the result of the oldest call of the turn that has none yet, as a JSON value.
func (g *Guard) Result(result any) {
	if g.stopped != nil {
		return
	}
	g.EndTurn()
	d := digestOf(result)
	g.mark(d)
	g.calls.answer(d)
}

// EndTurn reports that the model's turn is over: an unclosed fence ends, and half a line.
func (g *Guard) EndTurn() {
	g.ended = true
	g.text.end()
	g.thought.end()
}

// Clone returns a guard that continues from here by itself, to watch a stream that may yet be discarded.
func (g *Guard) Clone() *Guard {
	c := *g
	c.text, c.thought = g.text.clone(), g.thought.clone()
	return &c
}

// begin notes that the model says or does something.
func (g *Guard) begin() {
	if g.ended {
		g.ended = false
		g.calls.settle()
	}
}

// mark puts a call or a result into the texts.
func (g *Guard) mark(d digest) {
	g.text.mark(d)
	g.thought.mark(d)
}

// strike counts a loop and clears what led to it.
func (g *Guard) strike(kind, detail string) *Strike {
	g.strikes++
	s := &Strike{Kind: kind, N: g.strikes, Detail: detail}
	g.text.clear()
	g.thought.clear()
	g.calls.clear()
	if g.strikes == maxStrikes {
		g.stopped = s
	}
	return s
}

// Struck counts a loop that was found elsewhere: by a clone, in an answer that was discarded for it. It is as if this guard had
// found it.
func (g *Guard) Struck(kind, detail string) *Strike {
	if g.stopped != nil {
		return g.stopped
	}
	return g.strike(kind, detail)
}
