package wire

import (
	"divisi/contextscope"
	"divisi/internal/spec"
)

// The kinds of a request.
const (
	// RequestDelegate has another role do a task; the agent waits for its handoff.
	RequestDelegate = "delegate"
	// RequestWait waits until all have ended that the agent delegated in the background.
	RequestWait = "wait"
	// RequestTransfer hands the agent's own task over, with its narrated session.
	RequestTransfer = "transfer"
	// RequestAsk puts a question to the master or a person.
	RequestAsk = "ask"
	// RequestScope asks for more to write.
	RequestScope = "scope"
	// RequestSend has a message put to the agent of a task, or answers its question; it is the master's.
	RequestSend = "send"
	// RequestRevise changes a task that has not landed, and RequestCancel gives it up; both are the master's.
	RequestRevise = "revise"
	RequestCancel = "cancel"
)

// Request is the data of a request event: what an agent asks of the conductor. It is appended before the agent waits, so that
// another delivery waits for the same answer instead of asking again.
type Request struct {
	// ID is unique in the run: the agent and its call.
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Role and Brief are of the task that delegate and transfer ask for, with Title, Files and IncludeContents.
	Role            string               `json:"role,omitempty"`
	Title           string               `json:"title,omitempty"`
	Brief           string               `json:"brief,omitempty"`
	Files           []string             `json:"files,omitempty"`
	IncludeContents spec.IncludeContents `json:"include_contents,omitempty"`
	// Background reports that the agent continues while the task that it delegates runs.
	Background bool `json:"background,omitempty"`
	// Artifacts are the handles that the task which delegate asks for is given.
	Artifacts []string `json:"artifacts,omitempty"`
	// Paths and Reason are what a scope request is for; Question what ask asks, Options the answers to choose from.
	Paths    []string `json:"paths,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	// Task is whose agent a message is for, Text the message; with Accept its held patch continues. Revise and cancel are for a
	// task too: Brief, Files and Constraints are what changes, Reason is why.
	Task        string   `json:"task,omitempty"`
	Text        string   `json:"text,omitempty"`
	Accept      bool     `json:"accept,omitempty"`
	Constraints []string `json:"constraints,omitempty"`
}

// Answer is the data of an answer event, which the conductor appends: what became of a request.
type Answer struct {
	Request string `json:"request"`
	// Refused reports why nothing was done; the agent reads it.
	Refused string `json:"refused,omitempty"`
	// Task is the task that was made of the request, Status and Handoff how it ended, Commit what of it has landed, Usage what
	// it cost, its descendants included.
	Task    string       `json:"task,omitempty"`
	Status  spec.Status  `json:"status,omitempty"`
	Fault   *spec.Fault  `json:"fault,omitempty"`
	Handoff spec.Handoff `json:"handoff,omitzero"`
	Commit  string       `json:"commit,omitempty"`
	Usage   spec.Usage   `json:"usage,omitzero"`
	// Begun reports that the task runs in the background: another answer follows when it has ended.
	Begun bool `json:"begun,omitempty"`
	// Granted are the paths of a scope request that the task may write from now on.
	Granted []string `json:"granted,omitempty"`
	// Unlocked are those of them that a person granted although they are protected.
	Unlocked []string `json:"unlocked,omitempty"`
	// Text is the answer to a question, or what else there is to say; From who answered.
	Text string `json:"text,omitempty"`
	From string `json:"from,omitempty"`
}

// Callee is a role that an agent can name in delegate and transfer.
type Callee struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Writes      bool   `json:"writes,omitempty"`
}

// MessageOf is a message in the log, a user event of the conductor, as it is put to the agents of its task.
func MessageOf(e *contextscope.Event) Control {
	c := Control{ID: e.ID, Verb: ControlSteer, Task: e.Task, From: e.Author}
	if !IsPerson(e.Author) {
		c.Text = "Message of " + e.Author + ":\n"
	}
	if e.Content == nil {
		return c
	}
	for _, p := range e.Content.Parts {
		if p != nil {
			c.Text += p.Text
		}
	}
	return c
}
