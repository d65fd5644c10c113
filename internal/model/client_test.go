package model_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
)

func scripted(t *testing.T, script string) *modeltest.Scripted {
	t.Helper()
	m, err := modeltest.FromYAML(script)
	require.NoError(t, err)
	t.Cleanup(func() { require.Empty(t, m.Violations()) })
	return m
}

func TestPolicyConforms(t *testing.T) {
	t.Parallel()
	m := scripted(t, `rules: [{steps: [{thought: hm, text: "one two three", chunk: 4}]}]`)
	var deltas int
	p := model.New(m, model.Policy{Budget: model.NewBudget(spec.Tokens(0), 0, nil)})
	for ev, err := range p.Generate(t.Context(), modeltest.Ask("t", "x")) {
		require.NoError(t, err)
		if ev.Delta != nil {
			deltas++
		}
	}
	require.Equal(t, 6, deltas)
}

func TestRetriesWhatPasses(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"503", "500", "cut", "clean_cut", "empty", "malformed_json", "error"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := scripted(t, fmt.Sprintf(`rules: [{steps: [{fault: %q, times: 2, text: done}]}]`, fault))
				var waits []spec.Wait
				ctx := model.WithObserver(t.Context(), func(w spec.Wait) { waits = append(waits, w) })
				began := time.Now()
				res, err := modeltest.Collect(ctx, model.New(m, model.Policy{}), modeltest.Ask("t", "x"))
				require.Nil(t, err)
				require.Equal(t, "done", res.Content.Parts[0].Text)
				require.Len(t, m.Requests(), 3)
				require.Len(t, waits, 2, "one event a wait")
				require.Equal(t, []any{spec.WaitRetry, 2, 5}, []any{waits[0].For, waits[0].Try, waits[0].Tries})
				require.NotEmpty(t, waits[0].Why)
				require.True(t, waits[1].Until.After(waits[0].Until) && waits[0].Until.After(began))
			})
		})
	}
}

func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	cases := []struct {
		fault string
		retry model.Retry
		sends int
		class model.Class
	}{
		{"503", model.Retry{}, 5, model.Overloaded},
		{"503", model.Retry{Tries: 2}, 2, model.Overloaded},
		{"503", model.Retry{Tries: 1000, First: time.Minute, Max: time.Minute, Time: time.Second}, 1, model.Overloaded},
		{"empty_candidate", model.Retry{}, 2, model.Truncated},
		{"other", model.Retry{}, 2, model.Truncated},
		{"safety", model.Retry{}, 1, model.Blocked},
		{"prompt_blocked", model.Retry{}, 1, model.Blocked},
		{"malformed_function_call", model.Retry{}, 1, model.MalformedCall},
		{"too_long", model.Retry{}, 1, model.TooLong},
		{"wrong_key", model.Retry{}, 1, model.Auth},
		{"404", model.Retry{}, 1, model.Invalid},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %d", c.fault, c.sends), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := scripted(t, fmt.Sprintf(`rules: [{steps: [{fault: %q}]}]`, c.fault))
				_, err := modeltest.Collect(t.Context(), model.New(m, model.Policy{Retry: c.retry}), modeltest.Ask("t", "x"))
				require.Equal(t, c.class, err.Class)
				require.Len(t, m.Requests(), c.sends)
			})
		})
	}
}

func TestRestartMarksVoidDeltas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model.New(scripted(t, `rules: [{steps: [{fault: cut, times: 1, text: "abcdef", chunk: 1}]}]`), model.Policy{})
		var shown string
		for ev, err := range m.Generate(t.Context(), modeltest.Ask("t", "x")) {
			require.NoError(t, err)
			if ev.Restart {
				require.Equal(t, "abc", shown)
				shown = ""
			}
			if ev.Delta != nil {
				shown += ev.Delta.Text
			}
		}
		require.Equal(t, "abcdef", shown)
	})
}

func TestWastedTriesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := scripted(t, `rules: [{steps: [{fault: empty_candidate, times: 1, text: a, usage: {prompt: 100, output: 5}}]}]`)
		budget := model.NewBudget(spec.Tokens(1_000_000), 1000, nil)
		var begun []bool
		ctx := model.WithNotes(t.Context(), func(n model.Noted) error {
			begun = append(begun, n.Reserved != nil)
			return nil
		})
		res, err := modeltest.Collect(ctx, model.New(m, model.Policy{Budget: budget}), modeltest.Ask("t", "x"))
		require.Nil(t, err)
		require.Equal(t, []bool{true, true, false, false}, begun, "what the first try had reserved stands while the second one waits")
		require.Equal(t, 105, res.Usage.Total())
		require.Equal(t, 105, res.Wasted.Total())
		require.Equal(t, 1210, budget.Spent(), "the seed, the waste and the answer")
	})
}

func TestAQuotaStopsEveryCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := scripted(t, `rules:
          - {task: greedy, steps: [{fault: 429, times: 7, retry_delay: 40s, text: a}]}
          - {task: "*", steps: [{text: b}]}`)
		type waited struct {
			after time.Duration
			quota string
		}
		began := time.Now()
		var seen []waited
		limit := model.NewRateLimit(nil)
		ctx := model.WithObserver(t.Context(), func(w spec.Wait) { seen = append(seen, waited{w.Until.Sub(began), w.Quota}) })
		p := model.New(m, model.Policy{RateLimit: limit, Retry: model.Retry{Tries: 1}})
		done := make(chan *model.Error)
		go func() {
			_, err := modeltest.Collect(ctx, p, modeltest.Ask("greedy", "x"))
			done <- err
		}()
		synctest.Wait()
		require.Equal(t, []waited{{40 * time.Second, "GenerateRequestsPerMinutePerProjectPerModel"}}, seen)
		other := model.New(m, model.Policy{RateLimit: limit})
		_, err := modeltest.Collect(t.Context(), other, modeltest.Ask("innocent", "x"))
		require.Nil(t, err)
		require.GreaterOrEqual(t, time.Since(began), 40*time.Second, "the other agent waited too")
		require.Nil(t, <-done, "seven 429s were not tries")
		require.Len(t, seen, 7)
		require.GreaterOrEqual(t, time.Since(began), 7*40*time.Second)
	})
}

func TestARateLimitHeedsTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := scripted(t, `rules: [{steps: [{fault: 429, retry_delay: 60s}]}]`)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := modeltest.Collect(ctx, model.New(m, model.Policy{}), modeltest.Ask("t", "x"))
		require.Equal(t, model.Cancelled, err.Class)
		require.Len(t, m.Requests(), 1)
	})
}

func TestTheTimeOfARateLimitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := scripted(t, `rules: [{steps: [{fault: 429, retry_delay: 60s}]}]`)
		p := model.New(m, model.Policy{Retry: model.Retry{LimitTime: 5 * time.Minute}})
		_, err := modeltest.Collect(t.Context(), p, modeltest.Ask("t", "x"))
		require.Equal(t, model.RateLimited, err.Class)
		require.Equal(t, time.Minute, err.RetryAfter)
	})
}

func TestDailyQuotaIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []string{
			`{fault: quota_day}`, `{fault: 429, quota: SpendLimitPerProject}`, `{fault: 429, retry_delay: 20m}`,
		} {
			m := scripted(t, `rules: [{steps: [`+fault+`]}]`)
			began := time.Now()
			_, err := modeltest.Collect(t.Context(), model.New(m, model.Policy{}), modeltest.Ask("t", "x"))
			require.Equal(t, model.RateLimited, err.Class)
			require.NotEmpty(t, err.Quota)
			require.GreaterOrEqual(t, err.RetryAfter, 10*time.Minute)
			require.Zero(t, time.Since(began))
		}
	})
}

func TestARateLimitWithoutADelayGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sends := 0
		m := modelFunc(func(yield func(model.Event, error) bool) {
			if sends++; sends <= 3 {
				yield(model.Event{}, model.FromStatus(429, nil, nil))
				return
			}
			yield(model.Event{Result: &model.Result{Content: &genai.Content{}, Finish: "STOP"}}, nil)
		})
		began := time.Now()
		_, err := modeltest.Collect(t.Context(), model.New(m, model.Policy{}), modeltest.Ask("t", "x"))
		require.Nil(t, err)
		require.GreaterOrEqual(t, time.Since(began), 35*time.Second, "5 + 10 + 20")
	})
}

func TestRateLimitedCallsAreNotTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		statuses := []int{429, 429, 429, 503}
		m := modelFunc(func(yield func(model.Event, error) bool) {
			if len(statuses) > 0 {
				status := statuses[0]
				statuses = statuses[1:]
				yield(model.Event{}, model.FromStatus(status, nil, nil))
				return
			}
			yield(model.Event{Result: &model.Result{Content: &genai.Content{}, Finish: "STOP"}}, nil)
		})
		p := model.New(m, model.Policy{Retry: model.Retry{Tries: 2}})
		_, err := modeltest.Collect(t.Context(), p, modeltest.Ask("t", "x"))
		require.Nil(t, err, "the 503 was the first of two tries")
	})
}

func TestARateLimitNeverShortens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := model.NewRateLimit(nil)
		late := time.Now().Add(time.Hour)
		limit.Extend(late, "long")
		limit.Extend(time.Now().Add(time.Minute), "short")
		until, quota := limit.Until()
		require.Equal(t, late, until)
		require.Equal(t, "long", quota)
	})
}

func TestContinuationIsOneAnswer(t *testing.T) {
	t.Parallel()
	const script = `rules: [{steps: [{fault: continuation, text: "one two three", usage: {prompt: 10, output: 2}}]}]`
	srv, g := serve(t, geminiOptions, script)
	for name, base := range map[string]model.Model{
		"gemini":   g,
		"scripted": scripted(t, script),
	} {
		budget := model.NewBudget(spec.Tokens(1_000_000), 0, nil)
		res, err := modeltest.Collect(t.Context(), model.New(base, model.Policy{Budget: budget}), modeltest.Ask("t", "x"))
		require.Nil(t, err, name)
		require.Equal(t, "one two three", res.Content.Parts[0].Text)
		require.Equal(t, genai.FinishReasonStop, res.Finish)
		require.Equal(t, 2, res.Usage.Calls)
		require.Equal(t, 24, res.Usage.Total(), "every hop is paid")
		require.Equal(t, 24, budget.Spent())
		require.Empty(t, res.Continuation)
	}
	log := srv.Requests()
	require.Equal(t, []int{1, 1}, []int{log[0].Try, log[1].Try}, "a hop is no second try")
}

func TestContinuationEnds(t *testing.T) {
	t.Parallel()
	hops := 0
	m := modelFunc(func(yield func(model.Event, error) bool) {
		hops++
		yield(model.Event{Result: &model.Result{
			Content: genai.NewContentFromText("x", "model"), Finish: genai.FinishReasonContinuation,
			Continuation: fmt.Appendf(nil, "%d", hops),
		}}, nil)
	})
	_, err := modeltest.Collect(t.Context(), model.New(m, model.Policy{}), modeltest.Ask("t", "x"))
	require.Equal(t, model.Truncated, err.Class)
	require.Equal(t, 8, hops)
}

func TestRestartInAContinuationShowsTheFirstHopAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sends := 0
		m := modelFunc(func(yield func(model.Event, error) bool) {
			sends++
			part := &genai.Part{Text: fmt.Sprint(sends)}
			if !yield(model.Event{Delta: part}, nil) {
				return
			}
			res := &model.Result{Content: &genai.Content{Role: "model", Parts: []*genai.Part{part}}, Finish: "STOP"}
			switch sends {
			case 1:
				res.Finish, res.Continuation = genai.FinishReasonContinuation, []byte("token")
			case 2:
				yield(model.Event{}, &model.Error{Class: model.Truncated})
				return
			}
			yield(model.Event{Result: res}, nil)
		})
		var shown string
		for ev, err := range model.New(m, model.Policy{}).Generate(t.Context(), modeltest.Ask("t", "x")) {
			require.NoError(t, err)
			if ev.Restart {
				shown = ""
			}
			if ev.Delta != nil {
				shown += ev.Delta.Text
			} else {
				require.Equal(t, "13", ev.Result.Content.Parts[0].Text)
			}
		}
		require.Equal(t, "13", shown)
	})
}

func TestRefusedSignatureIsResentThenStripped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent [][]*genai.Content
		m := recorder{&sent, func(yield func(model.Event, error) bool) {
			body := `{"error":{"code":400,"message":"Corrupted thought signature."}}`
			if len(sent) < 3 {
				yield(model.Event{}, model.FromStatus(400, nil, []byte(body)))
				return
			}
			yield(model.Event{Result: &model.Result{Content: genai.NewContentFromText("x", "model"), Finish: "STOP"}}, nil)
		}}
		req := modeltest.Ask("t", "x")
		call := func(sig string) *genai.Part {
			return &genai.Part{FunctionCall: &genai.FunctionCall{Name: "f"}, ThoughtSignature: []byte(sig)}
		}
		answer := &genai.Content{Role: "model", Parts: []*genai.Part{{ThoughtSignature: []byte("s")}, call("a"), call("")}}
		req.Contents = append(req.Contents, answer)
		_, err := modeltest.Collect(t.Context(), model.New(m, model.Policy{}), req)
		require.Nil(t, err)
		require.Len(t, sent, 3)
		require.Equal(t, "a", string(sent[1][1].Parts[1].ThoughtSignature))
		stripped := sent[2][1].Parts
		require.Len(t, stripped, 2)
		require.Equal(t, "skip_thought_signature_validator", string(stripped[0].ThoughtSignature))
		require.Empty(t, stripped[1].ThoughtSignature)
		require.Equal(t, "a", string(answer.Parts[1].ThoughtSignature), "the caller's history is left alone")
	})
}
