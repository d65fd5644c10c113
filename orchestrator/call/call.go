// Package call carries the calls between the halves of a run, its host and clients. A call is a message with a name, what it is
// about and a body; its answer has a result or an error with a class. What can be asked is listed once: conductor.go has what the
// half that works asks of the half that conducts, client.go what clients ask of a host, of a server and of a worker. Each entry
// says who may make the call, how large it is, how often, and which types body and result have; who answers has a table of
// functions for the entries, and an Answerer that checks all of that before it calls a function.
package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/request"
	"divisi/subagents/wire"
)

// Kind is one call with a body of type Q and a result of type A: its name, who may make it, how large it is at most, in bytes,
// and how often each caller makes it: so many at once, then one more after each time. Which numbers it takes the types of its
// body say: see spec.Bounds.
type Kind[Q, A any] struct {
	Name  string
	May   Who
	Size  int
	Burst int
	Every time.Duration
}

// Who is the allowed caller of a call.
type Who int

// Callers of a conductor, of a host, of a server and of a worker. What an Answerer does not check the permissions of the bus say.
const (
	AnyWorker Who = iota + 1 // of the server, for itself
	OwnHands                 // the half that works in this process
	Counted                  // that the run counts on
	Holder                   // that has the attempt, which is open, as the log says
	Planner                  // likewise, of a role that may plan
	Actor                    // a person, who may change runs
	Reader                   // who reads all of runs
	Viewer                   // who reads runs, without what commands printed too
	LogViewer                // who reads runs without what commands printed
	Operator                 // of the server
)

// None is no body, or no result.
type None struct{}

// At names an attempt of a task; 0 for the newest.
type At struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
}

// Head is the subject of a call: a run, an attempt. ID is that of the call where its answer comes by another way.
type Head struct {
	ID  string `json:"id,omitempty"`
	Run string `json:"run,omitempty"`
	At  At     `json:"at,omitzero"`
}

// In is a call as it comes.
type In struct {
	Name string `json:"call"`
	Head
	Body json.RawMessage `json:"body,omitempty"`
	// From is the caller, as Subject says and the bus proves. Viewed reports that the caller is not shown what commands printed.
	From    string `json:"-"`
	Subject string `json:"-"`
	Viewed  bool   `json:"-"`
	// Checked is set once all of the call has been checked, and the function that answers it has it.
	Checked bool `json:"-"`
}

// read reads the envelope of a call.
func (in *In) read(data []byte) error {
	_, err := spec.Object(data, "call", "id", "run", "at", "body")
	if err == nil {
		err = json.Unmarshal(data, in)
	}
	if err == nil {
		err = spec.Bounds(&in.Head)
	}
	if err != nil { // it has no class: a program of before knows none
		return fmt.Errorf("the call cannot be read: %w. Where it comes from another version of Divisi, use that of the process "+
			"that was asked", err)
	}
	return nil
}

// Answer is the reply to a call, as it is sent: a result, which is the object Large where it does not fit into a message; or why
// nothing does.
type Answer struct {
	ID     string          `json:"id,omitempty"`
	Error  string          `json:"error,omitempty"`
	Class  Class           `json:"class,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Large  string          `json:"large,omitempty"`
}

// Answers reports whether an answer is that of the call with an id.
func Answers(answer []byte, id string) bool {
	var a Answer
	return len(answer) > 0 && json.Unmarshal(answer, &a) == nil && a.ID == id
}

// Class is the meaning of an error for the caller.
type Class string

// The classes of errors; "" is a failure of who answers.
const (
	Refused Class = "refused" // what was asked for is at fault
	Again   Class = "again"   // it is to be asked again
	Gone    Class = "gone"    // who answers stops: the next one does what is asked
	Lacks   Class = "lacks"   // who answers lacks what it was to have already
)

// Error is why nothing becomes of a call.
type Error struct {
	Class Class
	Text  string
}

// Error is the text.
func (e *Error) Error() string { return e.Text }

// As makes a *usage.Error of what is refused: a mistake of the caller.
func (e *Error) As(target any) bool {
	u, ok := target.(**usage.Error)
	if ok = ok && e.Class == Refused; ok {
		*u = &usage.Error{Text: e.Text}
	}
	return ok
}

// Refusedf makes an error of what was asked for.
func Refusedf(format string, args ...any) error { return &Error{Refused, fmt.Sprintf(format, args...)} }

// AskAgain is an error of a call that is to be made again.
func AskAgain(why string) error { return &Error{Again, why + ": ask again"} }

// ClassOf is the class of an error.
func ClassOf(err error) Class {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Class
	case errors.As(err, new(*request.RefusedError)), errors.As(err, new(*usage.Error)),
		errors.Is(err, wire.ErrSeal), errors.Is(err, memory.ErrRefused):
		return Refused
	}
	return ""
}

// ErrUnanswered is wrapped by the error of a call that gets no answer: its caller asks again.
var ErrUnanswered = errors.New("the call is not answered")

// errVersion is the error of an answer that this program cannot read.
var errVersion = errors.New("the process that answers is of another version of Divisi than this program: use that version, or " +
	"end the process and start it with this one")
