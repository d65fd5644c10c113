package agent

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"divisi/contextscope"
	"divisi/internal/text"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

// nextStates reports which states of a call follow which; docs/agent.md draws them.
var nextStates = map[wire.CallState][]wire.CallState{
	"":                  {wire.CallValidating},
	wire.CallValidating: {wire.CallScheduled, wire.CallError, wire.CallCancelled},
	wire.CallScheduled:  {wire.CallExecuting, wire.CallCancelled},
	wire.CallExecuting:  {wire.CallAwaiting, wire.CallSuccess, wire.CallError, wire.CallCancelled},
	wire.CallAwaiting:   {wire.CallExecuting, wire.CallSuccess, wire.CallError, wire.CallCancelled},
}

// states are the states of one turn's calls, and the changes that are not in the log yet. It is safe for concurrent use.
type states struct {
	turn  int
	began time.Time
	clock func() time.Time

	mu      sync.Mutex
	calls   []*genai.FunctionCall
	ids     []string
	at      []wire.CallState
	changes []wire.Change
}

// move takes a call to a state. A way that there is not is a mistake of the caller's.
func (s *states) move(call int, to wire.CallState, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.at[call]
	if !slices.Contains(nextStates[from], to) {
		panic(fmt.Sprintf("call %s goes from %q to %q", s.ids[call], from, to))
	}
	s.at[call] = to
	c := wire.Change{Call: call, State: to, MS: s.clock().Sub(s.began).Milliseconds(), Note: note}
	if from == "" {
		c.ID, c.Tool = s.ids[call], text.Tail(s.calls[call].Name, maxNote)
	}
	s.changes = append(s.changes, c)
}

// maxNote bounds, in bytes, what a change says.
const maxNote = 200

// event returns the changes since the last one as an event; false when there are none.
func (s *states) event() (contextscope.Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.changes) == 0 {
		return contextscope.Event{}, false
	}
	e := wire.Draft(contextscope.KindCalls, wire.Calls{Turn: s.turn, Began: s.began.UTC(), Changes: s.changes})
	s.changes = nil
	return e, true
}
