package subagents

import (
	"context"
	"iter"
	"sync"
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// step is one answer of a script.
type step struct {
	parts []*genai.Part
	err   *model.Error
	// wait goes before the answer; hang says nothing until the call is given up.
	wait time.Duration
	hang bool
}

// script is a model that answers by how much of the conversation it has seen: a turn that is asked for again is answered as
// before, and counted.
type script struct {
	mu    sync.Mutex
	steps []step
	calls []*model.Request
	// answered counts the answers given, by turn.
	answered map[int]int
	// each is called before each answer.
	each func(turn int)
}

func says(text string) step { return step{parts: []*genai.Part{{Text: text}}} }

func callsTool(name string, args map[string]any) step {
	return step{parts: []*genai.Part{genai.NewPartFromFunctionCall(name, args)}}
}

func submits(summary string) step {
	return callsTool(spec.ToolSubmitResult, map[string]any{"summary": summary})
}

func (s *script) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		st, turn := s.next(req)
		if s.each != nil {
			s.each(turn)
		}
		timer := time.NewTimer(st.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			yield(model.Event{}, model.AsError(ctx.Err()))
			return
		}
		if st.hang {
			<-ctx.Done()
			yield(model.Event{}, model.AsError(ctx.Err()))
			return
		}
		if st.err != nil {
			yield(model.Event{}, st.err)
			return
		}
		s.mu.Lock()
		s.answered[turn]++
		s.mu.Unlock()
		for _, p := range st.parts {
			if !yield(model.Event{Delta: p}, nil) {
				return
			}
		}
		yield(model.Event{Result: &model.Result{
			Content: &genai.Content{Role: genai.RoleModel, Parts: st.parts}, Finish: genai.FinishReasonStop,
			Usage: spec.Usage{Calls: 1, Prompt: 10, Output: 5}, Model: req.Model,
		}}, nil)
	}
}

// next returns the step of the turn that the request asks for; past the end of the script the last one again.
func (s *script) next(req *model.Request) (step, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered == nil {
		s.answered = map[int]int{}
	}
	s.calls = append(s.calls, req)
	turn := req.Meta.Turn - 1
	return s.steps[min(turn, len(s.steps)-1)], turn
}

// requests returns the requests so far.
func (s *script) requests() []*model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
