package contextscope

import (
	"slices"

	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// Session is one agent's events, in order. Its methods return views: they share the events and never change them.
type Session []Event

// Numbered returns the session of a conversation that several attempts have carried on with its numbers in one row, so that a
// number names one event in all of it: each attempt's own count continues from the last of the attempt before.
func (s Session) Numbered() Session {
	out := make(Session, len(s))
	offset, last, attempt := 0, 0, 0
	for i, e := range s {
		if e.Attempt != attempt {
			offset, attempt = last, e.Attempt
		}
		e.Seq += offset
		out[i], last = e, max(last, e.Seq)
	}
	return out
}

// Spoken returns the events that are part of the conversation: those that a model said, was told or was given as results, and
// the note that a slice puts in place of some.
func (s Session) Spoken() Session {
	out := make(Session, 0, len(s))
	for _, e := range s {
		if e.Content != nil && (e.Kind.Spoken() || e.Kind == KindCompaction) {
			out = append(out, e)
		}
	}
	return out
}

// Spoken reports whether events of the kind are part of a conversation. Reminders by the runtime are for one model only and
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
	return s.beforeTurn(func(fc *genai.FunctionCall) bool { return fc.Name == tool })
}

// BeforeCall returns the session up to, not including, the turn that holds the call; the whole session where none does.
func (s Session) BeforeCall(id string) Session {
	return s.beforeTurn(func(fc *genai.FunctionCall) bool { return fc.ID == id })
}

func (s Session) beforeTurn(match func(*genai.FunctionCall) bool) Session {
	for i, e := range slices.Backward(s) {
		if e.Kind == KindTurn && calls(e.Content, match) {
			return s[:i]
		}
	}
	return s
}

// Closed returns the session cut where every call has its result: a last turn that still waits for one goes, and what
// follows it. A call that later turns have passed over was abandoned and cuts nothing.
func (s Session) Closed() Session {
	turn := s.LastTurn()
	if turn < 0 {
		return s
	}
	answered := map[content.Key]int{}
	for _, e := range s[turn+1:] {
		content.EachResponse(e.Content, func(fr *genai.FunctionResponse) { answered[content.ResponseKey(fr)]++ })
	}
	open := calls(s[turn].Content, func(fc *genai.FunctionCall) bool {
		answered[content.CallKey(fc)]--
		return answered[content.CallKey(fc)] < 0
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
			return s[i+1:].WithoutLeadingResults()
		}
		n--
	}
	return s
}

// WithoutLeadingResults drops what answers a turn that is not there any more.
func (s Session) WithoutLeadingResults() Session {
	for len(s) > 0 && s[0].Kind == KindTool {
		s = s[1:]
	}
	return s
}

// LastTurn is the place of the newest turn, -1 where there is none.
func (s Session) LastTurn() int {
	for i, e := range slices.Backward(s) {
		if e.Kind == KindTurn {
			return i
		}
	}
	return -1
}

func calls(c *genai.Content, match func(*genai.FunctionCall) bool) bool {
	found := false
	content.EachCall(c, func(fc *genai.FunctionCall) { found = match(fc) || found })
	return found
}
