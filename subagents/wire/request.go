package wire

import "divisi/internal/spec"

// The kinds of a request.
const (
	// RequestDelegate has another role do a task; the agent waits for its handoff.
	RequestDelegate = "delegate"
	// RequestTransfer hands the agent's own task over, with its narrated session.
	RequestTransfer = "transfer"
	// RequestAsk puts a question to the master or a person.
	RequestAsk = "ask"
	// RequestScope asks for more to write.
	RequestScope = "scope"
)

// Request is the data of a request event: what an agent asks of the conductor. It is appended before the agent waits, so that
// another delivery waits for the same answer instead of asking again.
type Request struct {
	// ID is unique in the run: the agent, the turn and the place of the call in it.
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Role and Brief are of the task that delegate and transfer ask for, with Files and IncludeContents.
	Role            string               `json:"role,omitempty"`
	Title           string               `json:"title,omitempty"`
	Brief           string               `json:"brief,omitempty"`
	Files           []string             `json:"files,omitempty"`
	IncludeContents spec.IncludeContents `json:"include_contents,omitempty"`
	// Paths and Reason are what a scope request is for; Question what ask asks, Options the answers to choose from.
	Paths    []string `json:"paths,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
}

// Answer is the data of an answer event, which the conductor appends: what became of a request.
type Answer struct {
	Request string `json:"request"`
	// Refused says why nothing was done; the agent reads it.
	Refused string `json:"refused,omitempty"`
	// Task is the task that was made of the request, Status and Handoff how it ended, Usage what it cost, its descendants
	// included.
	Task    string       `json:"task,omitempty"`
	Status  spec.Status  `json:"status,omitempty"`
	Fault   *spec.Fault  `json:"fault,omitempty"`
	Handoff spec.Handoff `json:"handoff,omitzero"`
	Usage   spec.Usage   `json:"usage,omitzero"`
	// Granted are the paths of a scope request that the task may write from now on.
	Granted []string `json:"granted,omitempty"`
	// Text is the answer to a question, From who gave it.
	Text string `json:"text,omitempty"`
	From string `json:"from,omitempty"`
}
