package modeltest

import (
	"context"
	"iter"
	"sync"
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// Step is one answer of a script.
type Step struct {
	Parts []*genai.Part
	Err   *model.Error
	// Wait goes before the answer; Hang says nothing until the call is given up.
	Wait time.Duration
	Hang bool
}

// Script is a model that answers by how much of the conversation it has seen: a turn that is asked for again is answered as
// before, and counted.
type Script struct {
	mu    sync.Mutex
	Steps []Step
	calls []*model.Request
	// Answered counts the answers given, by turn.
	Answered map[int]int
	// Each is called before each answer.
	Each func(turn int)
}

// Says is a step of words.
func Says(text string) Step { return Step{Parts: []*genai.Part{{Text: text}}} }

// CallsTool is a step with one call.
func CallsTool(name string, args map[string]any) Step {
	return Step{Parts: []*genai.Part{genai.NewPartFromFunctionCall(name, args)}}
}

// Submits is the step that hands the work in.
func Submits(summary string) Step {
	return CallsTool(spec.ToolSubmitResult, map[string]any{"summary": summary})
}

// Generate implements model.Model.
func (s *Script) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		st, turn := s.next(req)
		if s.Each != nil {
			s.Each(turn)
		}
		timer := time.NewTimer(st.Wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			yield(model.Event{}, model.AsError(ctx.Err()))
			return
		}
		if st.Hang {
			<-ctx.Done()
			yield(model.Event{}, model.AsError(ctx.Err()))
			return
		}
		if st.Err != nil {
			yield(model.Event{}, st.Err)
			return
		}
		s.mu.Lock()
		s.Answered[turn]++
		s.mu.Unlock()
		for _, p := range st.Parts {
			if !yield(model.Event{Delta: p}, nil) {
				return
			}
		}
		yield(model.Event{Result: &model.Result{
			Content: &genai.Content{Role: genai.RoleModel, Parts: st.Parts}, Finish: genai.FinishReasonStop,
			Usage: spec.Usage{Calls: 1, Prompt: 10, Output: 5}, Model: req.Model,
		}}, nil)
	}
}

// next returns the step of the turn that the request asks for; past the end of the script the last one again.
func (s *Script) next(req *model.Request) (Step, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Answered == nil {
		s.Answered = map[int]int{}
	}
	s.calls = append(s.calls, req)
	turn := req.Meta.Turn - 1
	return s.Steps[min(turn, len(s.Steps)-1)], turn
}

// Sent returns the requests so far.
func (s *Script) Sent() []*model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
