package modeltest

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"divisi/internal/model"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// Recorder is a model that keeps each request as it was when it came.
type Recorder struct {
	// Play gives the answer to a request, or how it failed.
	Play func(req *model.Request) ([]*genai.Part, *model.Error)

	mu sync.Mutex
	// Sent are the requests that were answered.
	Sent map[model.Meta]string
	// Paid is the cost of all answers, failures too.
	Paid spec.Usage
}

// NewRecorder returns a recorder that answers with play.
func NewRecorder(play func(req *model.Request) ([]*genai.Part, *model.Error)) *Recorder {
	return &Recorder{Play: play, Sent: map[model.Meta]string{}}
}

// AsSent is a request as text. What a service's cache holds is in it all the same.
func AsSent(req *model.Request) string {
	raw, err := json.Marshal([]any{req.Model, req.Contents, req.Config, req.Meta})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Generate implements model.Model.
func (r *Recorder) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		sent := AsSent(req)
		parts, fault := r.Play(req)
		if ctx.Err() != nil {
			fault = model.AsError(ctx.Err())
		}
		usage := spec.Usage{Calls: 1, Prompt: len(sent) / 3, Output: 50}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Paid = r.Paid.Add(usage)
		if fault != nil {
			failed := *fault
			failed.Usage = usage
			yield(model.Event{}, &failed)
			return
		}
		r.Sent[req.Meta] = sent
		yield(model.Event{Result: &model.Result{
			Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, Finish: genai.FinishReasonStop, Usage: usage,
		}}, nil)
	}
}
