package wire

import (
	"fmt"
	"strings"
)

// ControlSteer puts a message to a running agent; it arrives at the agent's next turn boundary.
const ControlSteer = "steer"

// ControlRead tells a worker that reads through the conductor that the log has more for the attempts that it concerns.
const ControlRead = "read"

// Control is a message to the workers of a run. It is at most once: what came of it is seen in the log. A cancelled agent
// leaves a result with status cancelled; a stopped one leaves a control event with reason stopped and no result, gives its
// message up, and continues when the same attempt is put on the queue again; a steering message leaves a steering event.
type Control struct {
	// ID makes a steering message count once, however often it is sent.
	ID   string `json:"id,omitempty"`
	Verb string `json:"verb"`
	// Task and Attempt limit the message to one task or one attempt; empty and 0 mean all of the run.
	Task    string `json:"task,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Text is the message of a steering, or the reason of a cancel.
	Text string `json:"text,omitempty"`
	// From is its sender: user or conductor.
	From string `json:"from,omitempty"`
}

// Concerns reports whether the message is meant for the attempt.
func (c Control) Concerns(task string, attempt int) bool {
	return (c.Task == "" || c.Task == task) && (c.Attempt == 0 || c.Attempt == attempt)
}

// The reasons of control events.
const (
	ReasonReminder = "reminder" // the agent stopped without submitting a result
	ReasonWrapUp   = "wrap_up"  // a limit is near
	ReasonLimit    = "limit"    // a limit is reached: one turn is left, to hand in what there is
	ReasonLoop     = "loop"     // the agent repeats itself
	ReasonJudged   = "judged"   // a model was asked whether there is progress; no words to the agent
	ReasonRetry    = "retry"    // the answer before was discarded
	// ReasonMachine: the machine lacks something, class reports what and detail where; the attempt continues when it is delivered
	// again, elsewhere at once where there are other machines.
	ReasonMachine = "machine"
	ReasonStopped = "stopped" // the run stops; the attempt goes on when it is delivered again
)

// Nudge is the data of a control event.
type Nudge struct {
	Reason string `json:"reason"`
	// Class is the limit that was reached, for the reason limit; the kind of the loop, for the reason loop.
	Class string `json:"class,omitempty"`
	// Detail says in a few words what goes round.
	Detail string `json:"detail,omitempty"`
	// Missing is how many bytes the machine lacks, for the reason machine; 0 where that is not known.
	Missing int64 `json:"missing,omitempty"`
	// Strike is 1 for a loop that the agent is told about, 2 for the one that ends it.
	Strike int `json:"strike,omitempty"`
	// Confidence is the first opinion of a judgement, nil where there was none, Second the other model's where it was asked;
	// Detail is the analysis of the last.
	Confidence *float64 `json:"confidence,omitempty"`
	Second     *float64 `json:"second,omitempty"`
}

// Lack is the missing resource of a machine, for the reason machine.
func (n Nudge) Lack() string {
	if n.Class == FaultInternal || n.Class == FaultSetup {
		return n.Class + ": " + n.Detail
	}
	why := strings.TrimSuffix(n.Class+" at "+n.Detail, " at ")
	if n.Missing > 0 {
		why += fmt.Sprintf(" (%d KiB more are needed)", (n.Missing+1023)>>10)
	}
	return why
}

// Steered is the data of a steering event: the receipt of a message.
type Steered struct {
	ID   string `json:"id"`
	From string `json:"from,omitempty"`
}

// ReasonTools is the reason of a control event without words to the agent: it keeps how the tools of MCP servers were described
// to the model, which servers may do otherwise another day.
const ReasonTools = "tools"

// ServerTools is the data of a control event with reason tools.
type ServerTools struct {
	Reason string `json:"reason"`
	// Object holds the declarations, as genai marshals them.
	Object string `json:"object"`
}
