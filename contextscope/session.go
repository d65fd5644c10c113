package contextscope

import (
	"slices"

	"google.golang.org/genai"
)

// Session is one agent's events, in order. Its methods return views: they share the events and never change them.
type Session []Event

// Spoken returns the events that are part of the conversation: those that a model said, was told or was given as results.
func (s Session) Spoken() Session {
	out := make(Session, 0, len(s))
	for _, e := range s {
		if e.Kind.Spoken() && e.Content != nil {
			out = append(out, e)
		}
	}
	return out
}

// Spoken says whether events of the kind are part of a conversation. Reminders by the runtime are for one model only and
// do not count.
func (k Kind) Spoken() bool {
	switch k {
	case KindBrief, KindUser, KindTurn, KindTool, KindSteering:
		return true
	default:
		return false
	}
}

// Before returns the session up to, not including, the newest turn that calls the tool; the whole session where none does.
func (s Session) Before(tool string) Session {
	for i, e := range slices.Backward(s) {
		if e.Kind == KindTurn && calls(e.Content, func(fc *genai.FunctionCall) bool { return fc.Name == tool }) {
			return s[:i]
		}
	}
	return s
}

// BeforeCall returns the session up to, not including, the turn that holds the call; the whole session where none does.
func (s Session) BeforeCall(id string) Session {
	for i, e := range slices.Backward(s) {
		if e.Kind == KindTurn && calls(e.Content, func(fc *genai.FunctionCall) bool { return fc.ID == id }) {
			return s[:i]
		}
	}
	return s
}

// Closed returns the session cut where every call has its result: a last turn that still waits for one goes, and what
// follows it. A call that later turns have passed over was abandoned and cuts nothing.
func (s Session) Closed() Session {
	turn := s.lastTurn()
	if turn < 0 {
		return s
	}
	answered := map[callKey]int{}
	for _, e := range s[turn+1:] {
		eachResponse(e.Content, func(fr *genai.FunctionResponse) { answered[responseKeyOf(fr)]++ })
	}
	open := calls(s[turn].Content, func(fc *genai.FunctionCall) bool {
		answered[callKeyOf(fc)]--
		return answered[callKeyOf(fc)] < 0
	})
	if open {
		return s[:turn]
	}
	return s
}

// Last returns the newest n turns, each with what led to it and its results; the whole session when n is 0.
func (s Session) Last(n int) Session {
	if n <= 0 {
		return s
	}
	for i, e := range slices.Backward(s) {
		if e.Kind != KindTurn {
			continue
		}
		if n == 0 {
			return s[i+1:].withoutLeadingResults()
		}
		n--
	}
	return s
}

// withoutLeadingResults drops what answers a turn that is not there any more.
func (s Session) withoutLeadingResults() Session {
	for len(s) > 0 && s[0].Kind == KindTool {
		s = s[1:]
	}
	return s
}

func (s Session) lastTurn() int {
	for i, e := range slices.Backward(s) {
		if e.Kind == KindTurn {
			return i
		}
	}
	return -1
}

func calls(c *genai.Content, match func(*genai.FunctionCall) bool) bool {
	found := false
	eachCall(c, func(fc *genai.FunctionCall) { found = match(fc) || found })
	return found
}
