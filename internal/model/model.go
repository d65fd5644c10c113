package model

import (
	"context"
	"iter"

	"google.golang.org/genai"

	"divisi/internal/spec"
)

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Generate streams one model answer. It yields deltas and, last, exactly one Event with Result; or one error of type
	// *Error and stops. The request is never modified and must not be while the answer is ranged over. Nothing is sent
	// before the first step of the range; ranging twice sends (and pays) twice. Breaking off the range ends the call.
	Generate(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Ask returns the whole answer of one call, without its deltas.
func Ask(ctx context.Context, m Model, req *Request) (*Result, *Error) {
	for ev, err := range m.Generate(ctx, req) {
		switch {
		case err != nil:
			return nil, AsError(err)
		case ev.Result != nil:
			return ev.Result, nil
		}
	}
	return nil, &Error{Class: Truncated, Message: "the answer ended without a result"}
}

// Request is one call.
type Request struct {
	// Model is the model's name, such as gemini-3.8-flash.
	Model string
	// Contents is the history, oldest first, roles user and model.
	Contents []*genai.Content
	// Config may be nil. Of its HTTPOptions only Headers and ExtraBody can be set; AutomaticContinuation is always off.
	Config *genai.GenerateContentConfig
	// Fallback are the further candidates, in their order, while Model is overloaded. They are sent the request without its
	// thought signatures, which only Model knows.
	Fallback []Candidate
	// Meta says on whose behalf the call is made.
	Meta Meta
}

// Meta names the work that a call is part of. It is sent only to a base URL that is not Google's own.
type Meta struct {
	Run, Task     string
	Attempt, Turn int
	// Purpose is "turn" or, for example, "compaction".
	Purpose string
}

// Event is one step of an answer: a delta, or the result.
type Event struct {
	// Delta is a part as it arrived. It is for show: Result alone counts. It must not be modified.
	Delta *genai.Part
	// Restart marks the first delta after a retry: the deltas before it are void.
	Restart bool
	// Result is the whole answer; set on the last event only.
	Result *Result
}

// Result is a whole answer that can be used: it has text, calls or thoughts. Recordings contain it as JSON.
type Result struct {
	// Content is the answer verbatim, role model. Signatures stay on exactly the part they came with; consecutive text
	// deltas of the same kind are joined only when neither is signed. Calls that came without an id carry a local one,
	// which is not sent back to the model. Numbers in arguments are float64: integers above 2^53 have lost digits.
	Content *genai.Content `json:"content"`
	// Finish is STOP, MAX_TOKENS or a reason that this package does not know.
	Finish genai.FinishReason `json:"finish"`
	// Usage is the cost of the answer, summed over its continuations (Calls counts them).
	Usage spec.Usage `json:"usage"`
	// Wasted is the cost of the discarded tries before the answer, where the server reported it.
	Wasted spec.Usage `json:"wasted,omitzero"`
	// Model is the version that answered; ResponseID the server's name for the answer.
	Model      string `json:"model,omitempty"`
	ResponseID string `json:"response_id,omitempty"`
	// StandIn is the name of the model that answered where that was not the request's own; its signatures are gone from Content.
	StandIn string `json:"stand_in,omitempty"`
	// Unsigned reports that the server refused the thought signatures of the request, and was sent it without them.
	Unsigned bool `json:"unsigned,omitempty"`
	// Tier is the service tier that the answer was asked for in; empty when it was left to the service.
	Tier string `json:"tier,omitempty"`
	// Continuation is the token to continue with when Finish is CONTINUATION. Models made by New never return one.
	Continuation []byte `json:"-"`
}

// Router sends each request to the client that serves its model. It is safe for concurrent use.
type Router struct {
	routes map[string]Model
	others Model
}

// NewRouter makes a router from the names of models to their clients. others, which may be nil, serves every other name.
func NewRouter(routes map[string]Model, others Model) *Router { return &Router{routes, others} }

// Generate implements Model. A model without a client is an error of class Invalid.
func (r *Router) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	client := r.others
	if req != nil {
		if m, ok := r.routes[req.Model]; ok {
			client = m
		}
	}
	if client != nil {
		return client.Generate(ctx, req)
	}
	return func(yield func(Event, error) bool) {
		if err := Validate(req); err != nil {
			yield(Event{}, err)
			return
		}
		yield(Event{}, Invalidf("no service is set up for model %s: name it in models of .divisi/divisi.yaml", req.Model))
	}
}
