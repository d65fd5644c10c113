package model

import (
	"bytes"
	"context"
	"iter"

	"google.golang.org/genai"

	"divisi/internal/spec"
)

// continued goes on where an answer stopped with CONTINUATION. It stands above budget and retries, so that every hop is
// paid from the budget, tried again on its own and cancelled at once; the SDK's own continuation knows none of that.
type continued struct {
	next Model
	hops int
}

// Generate implements Model.
func (m continued) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		res, err := m.run(ctx, req, yield)
		switch {
		case err != nil:
			yield(Event{}, err)
		case res != nil:
			yield(Event{Result: res}, nil)
		}
	}
}

func (m continued) run(ctx context.Context, req *Request, yield func(Event, error) bool) (*Result, *Error) {
	var whole joined
	for hop := 1; ; hop++ {
		res, err := collect(m.next.Generate(ctx, req), whole.replaying(yield))
		if err != nil {
			err.Usage = err.Usage.Add(whole.usage).Add(whole.wasted)
			return nil, err
		}
		if res == nil {
			return nil, nil
		}
		whole.add(res)
		if res.Finish != genai.FinishReasonContinuation {
			return whole.result(res), nil
		}
		if hop >= m.hops || bytes.Equal(res.Continuation, whole.token) {
			return nil, &Error{
				Class: Truncated, tries: 1, Usage: whole.usage.Add(whole.wasted),
				Message: "the answer did not come to an end within its continuations",
			}
		}
		whole.token = res.Continuation
		req = resume(req, res.Continuation)
	}
}

// joined is an answer in several hops.
type joined struct {
	parts         []*genai.Part
	usage, wasted spec.Usage
	token         []byte
}

func (j *joined) add(res *Result) {
	for _, p := range res.Content.Parts {
		j.parts = appendPart(j.parts, p)
	}
	j.usage, j.wasted = j.usage.Add(res.Usage), j.wasted.Add(res.Wasted)
}

// replaying shows the hops before this one again when this one starts anew: to a caller they are one answer.
func (j *joined) replaying(yield func(Event, error) bool) func(Event, error) bool {
	return func(ev Event, err error) bool {
		if !ev.Restart {
			return yield(ev, err)
		}
		for i, p := range j.parts {
			shown := *p // the original grows with the next hop
			if !yield(Event{Delta: &shown, Restart: i == 0}, nil) {
				return false
			}
		}
		ev.Restart = len(j.parts) == 0
		return yield(ev, err)
	}
}

func (j *joined) result(last *Result) *Result {
	out := *last
	out.Content = &genai.Content{Role: genai.RoleModel, Parts: j.parts}
	out.Usage, out.Wasted, out.Continuation = j.usage, j.wasted, nil
	return &out
}

// resume is the same request, to be gone on with from a token.
func resume(req *Request, token []byte) *Request {
	out := *req
	var config genai.GenerateContentConfig
	if req.Config != nil {
		config = *req.Config
	}
	config.ContinuationToken = token
	out.Config = &config
	return &out
}
