package model_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/internal/testkit/modeltest"
)

const (
	primary = "gemini-4-argon"
	second  = "gemini-3.8-flash"
	third   = "gemini-3.5-flash-lite"
)

// fleet is a service of several models. Each answers with its name unless it is down.
type fleet struct {
	mu   sync.Mutex
	down map[string]*model.Error // by name, or by name and tier
	sent []string
	reqs []*model.Request
	slow time.Duration
}

func (f *fleet) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		select {
		case <-time.After(f.slow):
		case <-ctx.Done():
			yield(model.Event{}, model.AsError(ctx.Err()))
			return
		}
		name := req.Model
		if req.Config != nil && req.Config.ServiceTier != "" {
			name += " " + string(req.Config.ServiceTier)
		}
		f.mu.Lock()
		f.sent, f.reqs = append(f.sent, name), append(f.reqs, req)
		err := f.down[name]
		f.mu.Unlock()
		if err != nil {
			own := *err
			yield(model.Event{}, &own)
			return
		}
		part := &genai.Part{Text: name, ThoughtSignature: []byte("signed by " + name)}
		if yield(model.Event{Delta: part}, nil) {
			yield(model.Event{Result: &model.Result{
				Content: genai.NewContentFromParts([]*genai.Part{part}, "model"), Finish: "STOP", Model: name,
				Usage: spec.Usage{Calls: 1, Prompt: 10},
			}}, nil)
		}
	}
}

// set puts models out of order, or in order again with nil; it returns what was sent until then.
func (f *fleet) set(err *model.Error, names ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range names {
		f.down[n] = err
	}
	sent := f.sent
	f.sent = nil
	return sent
}

func overloaded() *model.Error { return model.FromStatus(503, nil, nil) }

// observed is a model whose calls are observed.
type observed struct {
	model.Model
	observe func(spec.Wait)
}

func (o observed) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return o.Model.Generate(model.WithObserver(ctx, o.observe), req)
}

// chain makes a fleet, its models with one try each, and who was asked in whose place.
func chain(policy model.Policy) (*fleet, model.Model, *[]spec.Wait) {
	f, notes := &fleet{down: map[string]*model.Error{}}, &[]spec.Wait{}
	if policy.Retry.Tries == 0 {
		policy.Retry.Tries = 1
	}
	return f, observed{model.New(f, policy), func(w spec.Wait) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if w.For != spec.WaitRetry {
			*notes = append(*notes, w)
		}
	}}, notes
}

func askChain(names ...string) *model.Request {
	req := modeltest.Ask("t", "x")
	req.Model = names[0]
	for _, n := range names[1:] {
		req.Fallback = append(req.Fallback, model.Candidate{Model: n})
	}
	return req
}

func answer(t *testing.T, m model.Model, req *model.Request) string {
	t.Helper()
	res, err := modeltest.Collect(t.Context(), m, req)
	require.Nil(t, err)
	return res.Content.Parts[0].Text
}

func TestAFallbackThatIsNotNeededDoesNotFire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []*model.Error{
			nil,
			{Class: model.Blocked},
			{Class: model.MalformedCall},
			{Class: model.Auth},
			{Class: model.TooLong},
			{Class: model.Invalid},
			{Class: model.Truncated},
			{Class: model.Cancelled},
			{Class: model.OverBudget},
			{Class: model.Unavailable, Message: "no route to host"},
			model.FromStatus(429, nil, []byte(`{"error":{"code":429,"message":"You exceeded your spend limit."}}`)),
		} {
			f, m, notes := chain(model.Policy{})
			f.set(err, primary)
			_, got := modeltest.Collect(t.Context(), m, askChain(primary, second))
			require.Equal(t, []string{primary}, f.set(nil), "%v", err)
			require.Equal(t, err == nil, got == nil)
			for _, w := range *notes {
				require.NotEqual(t, spec.WaitFallback, w.For)
			}
		}
	})
}

func TestBacksOffThenFallsBackThenReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, notes := chain(model.Policy{Retry: model.Retry{Tries: 3}})
		began := time.Now()
		f.set(overloaded(), primary)
		res, err := modeltest.Collect(t.Context(), m, askChain(primary, second, third))
		require.Nil(t, err)
		require.Equal(t, second, res.StandIn)
		require.Equal(t, []string{primary, primary, primary, second}, f.set(nil))
		require.Greater(t, time.Since(began), time.Second, "it backed off before")
		require.Len(t, *notes, 1)
		require.Equal(t, spec.WaitFallback, (*notes)[0].For)
		require.Equal(t, primary, (*notes)[0].Model)
		require.Equal(t, second, (*notes)[0].Instead)
		require.Contains(t, (*notes)[0].Why, "overloaded")

		began = time.Now()
		require.Equal(t, second, answer(t, m, askChain(primary, second)))
		require.Equal(t, []string{second}, f.set(nil), "the main model rests")
		require.Zero(t, time.Since(began))
		require.Len(t, *notes, 1, "that it rests was told")

		<-time.After(30 * time.Second)
		require.Equal(t, second, answer(t, m, askChain(primary, second)))
		require.Equal(t, []string{primary, second}, f.set(nil), "the probe is one send")

		<-time.After(30 * time.Second)
		require.Equal(t, second, answer(t, m, askChain(primary, second)))
		require.Equal(t, []string{second}, f.set(nil, primary), "the second rest is twice as long")

		<-time.After(30 * time.Second)
		res, err = modeltest.Collect(t.Context(), m, askChain(primary, second))
		require.Nil(t, err)
		require.Empty(t, res.StandIn)
		require.Equal(t, spec.Wait{For: spec.WaitOver, Model: primary}, (*notes)[len(*notes)-1])
		require.Equal(t, primary, answer(t, m, askChain(primary, second)))
		require.Equal(t, []string{primary, primary}, f.set(nil))
	})
}

func TestEverybodyIsAskedBeforeACallFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, notes := chain(model.Policy{})
		f.set(overloaded(), primary)
		f.set(model.FromStatus(500, nil, nil), third)
		f.set(&model.Error{Class: model.Auth, Usage: spec.Usage{Calls: 1, Prompt: 7}}, second)
		_, err := modeltest.Collect(t.Context(), m, askChain(primary, second, third))
		require.Equal(t, model.Overloaded, err.Class, "the own model's failure counts, not a stand-in's wrong key")
		require.Equal(t, 7, err.Usage.Prompt)
		require.Equal(t, []string{primary, second, third}, f.set(nil))

		f.set(nil, third)
		require.Equal(t, third, answer(t, m, askChain(primary, second, third)))
		require.Equal(t, []string{second, primary, third}, f.set(nil), "those that rest are asked last")
		require.NotEmpty(t, *notes)

		f.set(nil, second)
		f.set(&model.Error{Class: model.Blocked}, third)
		f.set(overloaded(), second)
		_, err = modeltest.Collect(t.Context(), m, askChain(second, third))
		require.Equal(t, model.Blocked, err.Class, "what a stand-in says of the turn counts")
	})
}

// While the model rests its stand-in is asked first. What is wrong with the stand-in says nothing of the call then either.
func TestAFailedStandInOfAModelThatRestsDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, standIn := range []model.Class{model.Invalid, model.Auth, model.TooLong, model.Unavailable} {
			f, m, _ := chain(model.Policy{})
			req := askChain(primary, second)
			f.set(overloaded(), primary)
			require.Equal(t, second, answer(t, m, req), "from now on the model rests")
			f.set(&model.Error{Class: standIn}, second)
			f.set(nil)
			_, err := modeltest.Collect(t.Context(), m, req)
			require.Equal(t, []string{second, primary}, f.set(nil))
			require.Equal(t, model.Overloaded, err.Class, standIn)
		}
	})
}

func TestAStandInIsSentWhatItTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{})
		f.set(overloaded(), primary, second, third)
		req := askChain(primary)
		req.Config = &genai.GenerateContentConfig{
			MaxOutputTokens: 60_000, ServiceTier: "priority",
			ThinkingConfig: &genai.ThinkingConfig{ThinkingLevel: "LOW", IncludeThoughts: true},
		}
		req.Contents = append(req.Contents, &genai.Content{Role: "model", Parts: []*genai.Part{
			{FunctionCall: &genai.FunctionCall{Name: "f"}, ThoughtSignature: []byte("own")},
		}})
		req.Contents[0].Parts = append(req.Contents[0].Parts, &genai.Part{Text: "more"})
		req.Fallback = []model.Candidate{
			{Model: second, Thinking: "minimal", MaxOutput: 100},
			{Model: "gemini-3.1-flash-lite", Tier: "standard"},
			{Model: third, Window: 1},
			{Model: "some-other-model", Thinking: "high"},
		}
		f.set(overloaded(), "gemini-3.1-flash-lite standard", primary+" priority")
		require.Equal(t, "some-other-model", answer(t, m, req))
		require.Len(t, f.reqs, 4, "%s takes too little", third)
		want := []struct {
			model, level, tier string
			most               int32
		}{
			{primary, "LOW", "priority", 60_000},
			{second, "LOW", "", 100},
			{"gemini-3.1-flash-lite", "", "standard", 60_000},
			{"some-other-model", "HIGH", "", 60_000},
		}
		for i, w := range want {
			r := f.reqs[i]
			require.Equal(t, w.model, r.Model)
			require.Equal(t, w.level, string(r.Config.ThinkingConfig.ThinkingLevel), w.model)
			require.True(t, r.Config.ThinkingConfig.IncludeThoughts)
			require.Equal(t, w.tier, string(r.Config.ServiceTier))
			require.Equal(t, w.most, r.Config.MaxOutputTokens)
			signature := "skip_thought_signature_validator"
			if i == 0 {
				signature = "own"
			}
			require.Equal(t, signature, string(r.Contents[1].Parts[0].ThoughtSignature))
		}
		require.Equal(t, "own", string(req.Contents[1].Parts[0].ThoughtSignature), "the request is left alone")
		require.Equal(t, "priority", string(req.Config.ServiceTier))
	})
}

func TestARequestThatNoStandInTakesIsNotSentToOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, notes := chain(model.Policy{})
		f.set(overloaded(), primary)
		req := askChain(primary)
		req.Fallback = []model.Candidate{{Model: second, Window: 3}}
		_, err := modeltest.Collect(t.Context(), m, req)
		require.Equal(t, model.Overloaded, err.Class)
		_, err = modeltest.Collect(t.Context(), m, req)
		require.Equal(t, model.Overloaded, err.Class)
		require.Equal(t, []string{primary, primary}, f.set(nil), "nobody stands in, so nobody rests")
		require.Empty(t, *notes)
	})
}

func TestDeltasOfAModelThatWasGivenUpAreVoid(t *testing.T) {
	t.Parallel()
	base := byModel{primary: modelFunc(func(yield func(model.Event, error) bool) {
		if yield(model.Event{Delta: &genai.Part{Text: "half"}}, nil) {
			yield(model.Event{}, overloaded())
		}
	}), second: modelFunc(func(yield func(model.Event, error) bool) {
		if yield(model.Event{Delta: &genai.Part{Text: "who"}}, nil) && yield(model.Event{Delta: &genai.Part{Text: "le"}}, nil) {
			yield(model.Event{Result: &model.Result{Content: genai.NewContentFromText("whole", "model"), Finish: "STOP"}}, nil)
		}
	})}
	m := model.New(base, model.Policy{Retry: model.Retry{Tries: 1}})
	var shown string
	for ev, err := range m.Generate(t.Context(), askChain(primary, second)) {
		require.NoError(t, err)
		if ev.Restart {
			shown = ""
		}
		if ev.Delta != nil {
			shown += ev.Delta.Text
		}
	}
	require.Equal(t, "whole", shown)
}

// byModel sends each model's requests to a fake of its own.
type byModel map[string]modelFunc

func (b byModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return b[req.Model].Generate(ctx, req)
}

// The strict service takes the whole conversation: the stand-in's turn comes back to the own model without its signatures.
func TestASignatureNeverComesToAnotherModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := modeltest.New(geminitest.Options{KeepBodies: true, Handle: func(r geminitest.Request) geminitest.Answer {
			if r.Turn == 2 && r.Model == primary {
				return geminitest.Answer{Fault: "503"}
			}
			return geminitest.Answer{Thought: "hm", Calls: []geminitest.Call{{Name: "read", Args: map[string]any{"path": r.Model}}}}
		}})
		m := model.New(s, model.Policy{Retry: model.Retry{Tries: 2}})
		req := askChain(primary, second)
		for turn := 1; turn <= 3; turn++ {
			req.Meta.Turn = turn
			res, err := modeltest.Collect(t.Context(), m, req)
			require.Nil(t, err)
			require.Equal(t, turn == 2, res.StandIn == second)
			for _, p := range res.Content.Parts {
				require.Equal(t, turn == 2 && p.FunctionCall != nil, string(p.ThoughtSignature) == "skip_thought_signature_validator")
			}
			req.Contents = append(req.Contents, res.Content, modeltest.Respond(res.Content))
			<-time.After(time.Minute)
		}
		require.Empty(t, s.Violations())
		log := s.Requests()
		models := make([]string, len(log))
		for i := range log {
			models[i] = log[i].Model
		}
		require.Equal(t, []string{primary, primary, primary, second, primary}, models)
	})
}

func TestEachModelOfAChainIsPaidFromTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := model.NewBudget(spec.Tokens(1_000_000), 0, nil)
		f, m, _ := chain(model.Policy{Budget: budget})
		down := overloaded()
		down.Usage = spec.Usage{Calls: 1, Prompt: 100}
		f.set(down, primary)
		res, err := modeltest.Collect(t.Context(), m, askChain(primary, second))
		require.Nil(t, err)
		most := res.Wasted.Prompt + model.Lookup(primary).MaxOutput
		require.Equal(t, most, res.Wasted.Total(), "it broke off: it is counted as reserved")
		require.Equal(t, most+10, budget.Spent())
		left, _ := budget.Left()
		require.Equal(t, 1_000_000-most-10, left, "nothing stays reserved")
	})
}
