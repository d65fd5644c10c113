package model_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
)

func TestLaterRoundsOfAnOutageSendOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{Outage: time.Minute, Retry: model.Retry{Tries: 3}})
		f.set(overloaded(), primary)
		_, err := modeltest.Collect(t.Context(), m, askChain(primary))
		require.Equal(t, model.Overloaded, err.Class)
		require.Len(t, f.set(nil), 3+1+1)
	})
}

func TestARestingModelIsAskedOnceWhenTheOthersFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{Retry: model.Retry{Tries: 2}})
		f.set(overloaded(), primary)
		require.Equal(t, second, answer(t, m, askChain(primary, second)))
		f.set(overloaded(), second)
		_, err := modeltest.Collect(t.Context(), m, askChain(primary, second))
		require.Equal(t, model.Overloaded, err.Class)
		require.Equal(t, []string{second, second, primary}, f.set(nil))
		require.NotNil(t, func() *model.Error {
			_, err := modeltest.Collect(t.Context(), m, askChain(primary, second))
			return err
		}())
		require.Equal(t, []string{primary, primary, second}, f.set(nil), "where all rest, the first has its tries")
	})
}

func TestAFailedHopCostsTheHopsBefore(t *testing.T) {
	t.Parallel()
	hops := 0
	m := model.New(modelFunc(func(yield func(model.Event, error) bool) {
		if hops++; hops == 2 {
			yield(model.Event{}, &model.Error{Class: model.Blocked, Usage: spec.Usage{Calls: 1, Prompt: 5}})
			return
		}
		yield(model.Event{Result: &model.Result{
			Content: genai.NewContentFromText("x", "model"), Finish: genai.FinishReasonContinuation, Continuation: []byte("token"),
			Usage: spec.Usage{Calls: 1, Prompt: 10},
		}}, nil)
	}), model.Policy{})
	_, err := modeltest.Collect(t.Context(), m, modeltest.Ask("t", "x"))
	require.Equal(t, model.Blocked, err.Class)
	require.Equal(t, spec.Usage{Calls: 2, Prompt: 15}, err.Usage)
}

func TestARateLimitWithoutADelayStartsOverAfterAnotherFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		faults := []*model.Error{
			model.FromStatus(429, nil, nil), model.FromStatus(429, nil, nil), overloaded(), model.FromStatus(429, nil, nil),
		}
		m := model.New(modelFunc(func(yield func(model.Event, error) bool) {
			at = append(at, time.Since(began))
			if n := len(at); n <= len(faults) {
				yield(model.Event{}, faults[n-1])
				return
			}
			yield(model.Event{Result: &model.Result{Content: genai.NewContentFromText("x", "model"), Finish: "STOP"}}, nil)
		}), model.Policy{})
		_, err := modeltest.Collect(t.Context(), m, modeltest.Ask("t", "x"))
		require.Nil(t, err)
		require.Len(t, at, 5)
		require.InDelta(t, 5, (at[1] - at[0]).Seconds(), 1)
		require.InDelta(t, 10, (at[2] - at[1]).Seconds(), 2)
		require.InDelta(t, 5, (at[4] - at[3]).Seconds(), 1, "as at first")
	})
}
