package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"divisi/internal/usage"
)

const (
	// askTime is how long a question waits for its person.
	askTime = 5 * time.Minute
	// maxAsked bounds the questions that wait for an answer, and the questions of one call.
	maxAsked = 8
	// answersByCall is the first version of the protocol in which a client that was asked calls again with the answer.
	answersByCall = "2026-07-28"
	// theAnswer names the field of the form, and yes its value that agrees.
	theAnswer = "answer"
	yes       = "yes"
)

// QuestionError reports that a person must agree first. A client that has forms is given the question; the model behind it has no
// part in that, because the answer is no argument of a tool.
type QuestionError struct {
	// Err is the error for a client without forms: it names the command with which the person agrees.
	Err error
	// Text is the question, with foreign text in lines that begin with four spaces, which Markdown shows as they are. It is empty
	// where a form cannot show it whole.
	Text string
	// Agree keeps the decision about what Text lists, whatever the files have by then.
	Agree func() error
	// until is the end of the time for an answer by another call.
	until time.Time
}

// Error implements error.
func (q *QuestionError) Error() string { return q.Err.Error() }

// Unwrap returns the error for a client without forms.
func (q *QuestionError) Unwrap() error { return q.Err }

// form is the question as a client shows it.
func (q *QuestionError) form() *sdk.ElicitParams {
	answer := &jsonschema.Schema{
		Type: "string", Title: "Allow this?", Enum: []any{"no", yes},
		Description: "yes allows exactly this list, also for later runs; no starts nothing",
	}
	return &sdk.ElicitParams{Mode: "form", Message: visible(q.Text), RequestedSchema: &jsonschema.Schema{
		Type: "object", Required: []string{theAnswer}, Properties: map[string]*jsonschema.Schema{theAnswer: answer},
	}}
}

// answered keeps a yes. Every other answer, and none, is an error with the next step.
func (q *QuestionError) answered(r *sdk.ElicitResult, err error) error {
	why := "the person said no"
	switch {
	case r != nil && err == nil && r.Action == "accept" && r.Content[theAnswer] == yes:
		return q.Agree()
	case errors.Is(err, context.DeadlineExceeded):
		why = fmt.Sprintf("the person did not answer within %s", askTime)
	case err != nil:
		why = fmt.Sprintf("the client did not ask the person: %v", err)
	case r == nil:
		why = "the client gave no answer of the person"
	case r.Action == "cancel":
		why = "the person closed the question"
	}
	return usage.Errorf("%s, and nothing was started. %v", why, q.Err)
}

// asked are the questions that wait for a call with their answer, by names that no client can guess. Each is answered once.
type asked struct {
	mu   sync.Mutex
	open map[string]*QuestionError
}

func (a *asked) keep(q *QuestionError) (name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) >= maxAsked || a.open == nil { // the oldest questions are asked again
		a.open = map[string]*QuestionError{}
	}
	name, q.until = rand.Text(), time.Now().Add(askTime)
	a.open[name] = q
	return name
}

// take returns the question of a name, which has no other answer then; nil for none.
func (a *asked) take(name string) *QuestionError {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.open[name]
	if delete(a.open, name); q == nil || time.Now().After(q.until) {
		return nil
	}
	return q
}

// agreed does what a call asks for, and again after each yes that it needs. ask is the question for a client that calls again
// with the answer; nil where the call is done.
func (s *Server) agreed(ctx context.Context, req *sdk.CallToolRequest, do func() error) (ask *sdk.CallToolResult, err error) {
	if name := req.Params.RequestState; name != "" {
		q := s.asked.take(name)
		if q == nil {
			return nil, usage.Errorf("this answer is too late, or the second to its question: call the tool again without it")
		}
		r, _ := req.Params.InputResponses[theAnswer].(*sdk.ElicitResult)
		if err := q.answered(r, nil); err != nil {
			return nil, err
		}
	}
	for range maxAsked {
		q := new(QuestionError)
		if err = do(); !errors.As(err, &q) || q.Text == "" || !forms(req) {
			return nil, err
		}
		if req.ProtocolVersion() >= answersByCall {
			return &sdk.CallToolResult{
				InputRequests: sdk.InputRequestMap{theAnswer: q.form()}, RequestState: s.asked.keep(q),
			}, nil
		}
		limit, cancel := context.WithTimeout(ctx, askTime)
		r, failed := req.Session.Elicit(limit, q.form())
		failed = errors.Join(failed, limit.Err())
		cancel()
		if err := q.answered(r, failed); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// forms reports whether the client can ask its person by a form.
func forms(req *sdk.CallToolRequest) bool {
	c := req.ClientCapabilities()
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}
