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

// Question is the error of a call that a person must agree to first. A client that can ask its person is given the question; it is
// no tool, and its answer no argument, so that the model behind the client has no part in it.
type Question struct {
	// Err is the error where the client cannot ask: it names the command with which the person agrees.
	Err error
	// Text is the question, with all foreign text of it in lines that begin with four spaces, which Markdown shows as they are.
	// It is empty where a form cannot show it whole.
	Text string
	// Agree keeps the person's decision. What they agreed to is what Text lists, whatever the files have by then.
	Agree func() error
}

// Error implements error.
func (q *Question) Error() string { return q.Err.Error() }

// Unwrap returns the error of a client that cannot ask.
func (q *Question) Unwrap() error { return q.Err }

// form is the question as a client shows it.
func (q *Question) form() *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: visible(q.Text), RequestedSchema: &jsonschema.Schema{
		Type: "object", Required: []string{theAnswer},
		Properties: map[string]*jsonschema.Schema{theAnswer: {
			Type: "string", Title: "Allow this?", Description: "yes allows exactly this list, also for later runs; no starts nothing",
			Enum: []any{"no", yes},
		}},
	}}
}

// answered keeps a yes. Every other answer, and none, is an error with the next step.
func (q *Question) answered(r *sdk.ElicitResult, err error) error {
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
	open map[string]pending
}

type pending struct {
	*Question

	until time.Time
}

func (a *asked) keep(q *Question) (name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) >= maxAsked || a.open == nil { // the oldest questions are asked again
		a.open = map[string]pending{}
	}
	name = rand.Text()
	a.open[name] = pending{q, time.Now().Add(askTime)}
	return name
}

// take returns the question of a name, which has no other answer then; nil for none.
func (a *asked) take(name string) *Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.open[name]
	if delete(a.open, name); time.Now().After(p.until) {
		return nil
	}
	return p.Question
}

// agreed does what a call asks for, and again after each yes that it needs. ask is the question for a client that calls again with
// the answer; nil where the call is done.
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
		q := new(Question)
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
