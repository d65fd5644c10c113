package wire

import "time"

// CallState is where a tool call stands.
type CallState string

// The states of a call; docs/agent.md draws them.
const (
	CallValidating CallState = "validating"
	CallScheduled  CallState = "scheduled"
	CallExecuting  CallState = "executing"
	// CallAwaiting is a call that waits for a decision.
	CallAwaiting  CallState = "awaiting_approval"
	CallSuccess   CallState = "success"
	CallError     CallState = "error"
	CallCancelled CallState = "cancelled"
)

// Calls is the data of a calls event: transitions of a turn's calls, in the order in which they happened.
type Calls struct {
	// Turn is the turn that made the calls, from 1; Began is when they were inspected first.
	Turn    int       `json:"turn"`
	Began   time.Time `json:"began"`
	Changes []Change  `json:"changes"`
}

// Change is one transition of one call.
type Change struct {
	// Call is the place of the call in its turn, from 0; ID its id and Tool its name, given with the first change of a call.
	Call  int       `json:"call"`
	ID    string    `json:"id,omitempty"`
	Tool  string    `json:"tool,omitempty"`
	State CallState `json:"state"`
	// MS is when, in milliseconds after Began.
	MS int64 `json:"ms,omitempty"`
	// Note says in a few words what it does, or why it ended as it did.
	Note string `json:"note,omitempty"`
}
