package subagents

import (
	"encoding/json"
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

// session is what the turn loop knows about its agent: a fold over the journal, so that a resumed agent and one that never
// stopped cannot differ. It is owned by the agent's goroutine.
type session struct {
	usage spec.Usage
	// calls counts the answers asked for, discarded ones too; discarded those since the last good one.
	calls     int
	discarded int
	// open is the newest turn while its calls have no results; silent says that the newest turn made no call.
	open   *genai.Content
	silent bool
	// reminders counts those since the last turn with a call; looped and wrapped say that the nudge was given.
	reminders int
	looped    bool
	wrapped   bool
	// fault is the newest turn's when it was discarded.
	fault *spec.Fault
	said  string
	tree  *spec.Patch
	end   *wire.End
	// repeats is the newest calls with their results, oldest first.
	repeats repeats
	steered map[string]bool
	briefed bool
	// kept are the artifacts that the agent's tools made, oldest first; loads what the newest turn asked to be shown.
	kept  []contextscope.Listed
	loads []wire.Load
}

func restore(events []contextscope.Event) (*session, error) {
	s := &session{steered: map[string]bool{}}
	for i := range events {
		if err := s.apply(&events[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// apply folds one event in, as it is stored.
func (s *session) apply(e *contextscope.Event) error {
	switch e.Kind { //nolint:exhaustive // the other kinds do not steer the loop
	case contextscope.KindBrief:
		s.briefed = true
	case contextscope.KindTurn:
		s.applyTurn(e)
	case contextscope.KindTool:
		return decode(e, func(d wire.Tooled) { s.applyTools(e, d) })
	case contextscope.KindControl:
		return decode(e, s.applyNudge)
	case contextscope.KindSteering:
		return decode(e, func(d wire.Steered) { s.steered[d.ID], s.silent, s.reminders = true, false, 0 })
	case contextscope.KindCompaction:
		if c, ok := contextscope.CompactionOf(*e); ok && c.Effective() && s.tooLong() {
			s.fault = nil
		}
	case contextscope.KindError:
		return decode(e, s.applyFault)
	case contextscope.KindUsage:
		return decode(e, func(u spec.Usage) { s.usage = s.usage.Add(u) })
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
	s.discarded, s.fault, s.loads = 0, nil, nil
	if text := textOf(e.Content); text != "" {
		s.said = text
	}
	if len(callsOf(e.Content)) == 0 {
		s.silent = true
		return
	}
	s.open, s.silent, s.reminders = e.Content, false, 0
}

func (s *session) applyTools(e *contextscope.Event, d wire.Tooled) {
	if s.open != nil {
		s.repeats = s.repeats.add(s.open, e.Content)
	}
	s.open, s.loads = nil, d.Loads
	s.kept = appendKept(s.kept, d.Kept)
	if d.Tree != nil || d.Clean {
		s.tree = d.Tree
	}
	if d.End != nil {
		s.end = d.End
	}
	if s.repeats.run() == 1 {
		s.looped = false
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
	case wire.ReasonLoop:
		s.looped = true
		s.repeats = s.repeats.nudged()
	}
}

// tooLong says that the newest request was too long, and that shortening it may still help.
func (s *session) tooLong() bool {
	return s.fault != nil && s.fault.Class == string(model.TooLong) && s.discarded < maxDiscarded
}

func (s *session) applyFault(f spec.Fault) {
	s.calls++
	s.discarded++
	s.fault = &f
}

// callsOf returns the function calls of a turn, in order.
func callsOf(c *genai.Content) []*genai.FunctionCall {
	if c == nil {
		return nil
	}
	var calls []*genai.FunctionCall
	for _, p := range c.Parts {
		if p != nil && p.FunctionCall != nil {
			calls = append(calls, p.FunctionCall)
		}
	}
	return calls
}

// textOf returns the text of a turn without its thoughts.
func textOf(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var text string
	for _, p := range c.Parts {
		if p != nil && !p.Thought {
			text += p.Text
		}
	}
	return text
}
