package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/loopguard"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

// session is the turn loop's knowledge of its agent: a fold over the journal, so that a resumed agent and one that never stopped
// cannot differ. It is owned by the agent's goroutine.
type session struct {
	usage spec.Usage
	// calls counts the answers asked for, discarded ones too; discarded those since the last good one.
	calls     int
	discarded int
	// open is the newest turn while its calls have no results; silent reports that the newest turn made no call.
	open   *genai.Content
	silent bool
	// reminders counts those since the last turn with a call; wrapped reports that the agent was told that a limit is near.
	reminders int
	wrapped   bool
	// limit is the class of the limit that was reached, overtime the turns since then; submitting reports that the newest turn
	// called submit_result.
	limit      string
	overtime   int
	submitting bool
	// toolCalls counts the calls that had a result; prompt is the size of the newest request, in tokens.
	toolCalls int
	prompt    int
	// fault is the newest turn's when it was discarded.
	fault *spec.Fault
	said  string
	tree  *spec.Patch
	end   *wire.End
	// guard looks for loops; strike is the one that it has found and that the agent was not told of yet. turns counts good
	// answers.
	guard   *loopguard.Guard
	strike  *loopguard.Strike
	turns   int
	steered map[string]bool
	briefed bool
	// remained reports that the agent was told what of its shard still matches.
	remained bool
	// kept are the artifacts that the agent's tools made, oldest first; loads what the newest turn asked to be shown.
	kept []contextscope.Listed
	// saved are those of them that the agent gave a name, the newest of each.
	saved []contextscope.Listed
	// handles reports that an event named a handle: of an artifact, or of what a compaction left out. notes reports that there
	// were notes in the memory when the newest delivery began.
	handles, notes bool
	loads          []wire.Load
}

func restore(events []contextscope.Event) (*session, error) {
	s := &session{steered: map[string]bool{}, guard: loopguard.New()}
	for i := range events {
		if err := s.apply(&events[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// SavedTree returns the newest tree that the events of an attempt hold; nil when there is none.
func SavedTree(events []contextscope.Event) (*spec.Patch, error) {
	s, err := restore(events)
	if err != nil {
		return nil, err
	}
	return s.tree, nil
}

// apply folds one event in, as it is stored.
func (s *session) apply(e *contextscope.Event) error {
	switch e.Kind {
	case contextscope.KindBrief:
		s.briefed = true
		s.guard.Prompt()
	case contextscope.KindStarted:
		return decode(e, func(d wire.Started) { s.notes = d.Notes })
	case contextscope.KindTurn:
		s.applyTurn(e)
	case contextscope.KindTool:
		return decode(e, func(d wire.Tooled) { s.applyTools(e, d) })
	case contextscope.KindControl:
		return decode(e, s.applyNudge)
	case contextscope.KindSteering:
		return decode(e, func(d wire.Steered) { s.steered[d.ID], s.silent, s.reminders = true, false, 0 })
	case contextscope.KindCompaction:
		if c, ok := contextscope.CompactionOf(*e); ok && c.Effective() {
			s.handles = true
			if s.tooLong() {
				s.fault = nil
			}
		}
	case contextscope.KindError:
		return decode(e, s.applyFault)
	case contextscope.KindUser:
		s.guard.Prompt()
	case contextscope.KindUsage:
		return decode(e, func(u wire.Spent) {
			s.usage = s.usage.Add(u.Usage)
			if u.Model == "" && u.Prompt > 0 {
				s.prompt = u.Prompt / max(1, u.Calls)
			}
		})
	}
	return nil
}

func decode[T any](e *contextscope.Event, apply func(T)) error {
	var d T
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return fmt.Errorf("decode %s event %s: %w", e.Kind, e.ID, err)
	}
	apply(d)
	return nil
}

func (s *session) applyTurn(e *contextscope.Event) {
	s.calls++
	s.turns++
	s.late()
	s.discarded, s.fault, s.loads = 0, nil, nil
	s.hear(e.Content)
	if text := content.Text(e.Content); text != "" {
		s.said = text
	}
	calls := callsOf(e.Content)
	s.submitting = slices.ContainsFunc(calls, func(c *genai.FunctionCall) bool { return c.Name == spec.ToolSubmitResult })
	if len(calls) == 0 {
		s.silent = true
		return
	}
	s.open, s.silent, s.reminders = e.Content, false, 0
}

func (s *session) applyTools(e *contextscope.Event, d wire.Tooled) {
	if s.open != nil {
		s.feed(e.Content)
	}
	s.open, s.loads = nil, d.Loads
	s.kept, s.saved = appendKept(s.kept, d.Kept), contextscope.Saved(s.saved, d.Kept...)
	s.handles = s.handles || len(d.Kept) > 0
	if d.Tree != nil || d.Clean {
		s.tree = d.Tree
	}
	if d.End != nil {
		s.end = d.End
	}
	s.remained = s.remained || d.Remaining
}

// hear gives the guard what a turn says, the end of the turn with it. What the guard saw while the answer streamed was a copy's.
func (s *session) hear(c *genai.Content) {
	for _, p := range c.Parts {
		if p == nil || p.Text == "" {
			continue
		}
		s.struck(say(s.guard, p))
	}
	s.guard.EndTurn()
}

// say gives a guard a part of an answer.
func say(g *loopguard.Guard, p *genai.Part) *loopguard.Strike {
	if p.Thought {
		return g.Thought(p.Text)
	}
	return g.Text(p.Text)
}

// feed gives the guard the open turn's calls, then what came of them. Behind a strike the rest of the turn does not count: it was
// called before the agent could be told.
func (s *session) feed(results *genai.Content) {
	for _, call := range callsOf(s.open) {
		if strike := s.guard.Call(call.Name, call.Args); strike != nil {
			s.struck(strike)
			break
		}
	}
	content.EachResponse(results, func(r *genai.FunctionResponse) {
		s.toolCalls++
		s.guard.Result(r.Response)
	})
}

// struck notes a strike; of two in one turn the later counts.
func (s *session) struck(strike *loopguard.Strike) {
	if strike != nil {
		s.strike = strike
	}
}

// late counts the turns after a limit was reached.
func (s *session) late() {
	if s.limit != "" {
		s.overtime++
	}
}

// appendKept adds handles that are not listed yet.
func appendKept(kept, more []contextscope.Listed) []contextscope.Listed {
	for _, k := range more {
		if !slices.ContainsFunc(kept, func(have contextscope.Listed) bool { return have.Handle == k.Handle }) {
			kept = append(kept, k)
		}
	}
	return kept
}

func (s *session) applyNudge(d wire.Nudge) {
	switch d.Reason {
	case wire.ReasonReminder:
		s.reminders++
		s.silent = false
	case wire.ReasonWrapUp:
		s.wrapped = true
	case wire.ReasonLimit:
		s.limit, s.silent = d.Class, false
	case wire.ReasonLoop:
		s.strike = nil
	case wire.ReasonJudged:
		s.judged(d)
	}
}

// tooLong reports that the newest request was too long, and that shortening it may still help.
func (s *session) tooLong() bool {
	return s.fault != nil && s.fault.Class == string(model.TooLong) && s.discarded < maxDiscarded
}

// invalid reports that the service called the newest request wrong, and that one more is to be tried.
func (s *session) invalid() bool { return s.fault != nil && s.fault.Class == string(model.Invalid) }

func (s *session) applyFault(f spec.Fault) {
	s.calls++
	s.discarded++
	s.late()
	s.fault = &f
	if f.Class == wire.FaultLoop {
		s.struck(s.guard.Struck(f.Detail, f.Message))
	}
}

// callsOf returns the function calls of a turn, in order.
func callsOf(c *genai.Content) (calls []*genai.FunctionCall) {
	content.EachCall(c, func(call *genai.FunctionCall) { calls = append(calls, call) })
	return calls
}

// sequence numbers a conversation that several attempts have carried on, and returns the highest number.
func sequence(events []contextscope.Event) (numbered []contextscope.Event, last int) {
	numbered = contextscope.Session(events).Numbered()
	for i := range numbered {
		last = max(last, numbered[i].Seq)
	}
	return numbered, last
}

// shifted returns the events with their numbers moved up, for an attempt that continues with a conversation.
func shifted(events []contextscope.Event, offset int) []contextscope.Event {
	if offset == 0 {
		return events
	}
	out := make([]contextscope.Event, len(events))
	for i, e := range events {
		e.Seq += offset
		out[i] = e
	}
	return out
}
