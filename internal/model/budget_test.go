package model_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

// A caller that makes its next call as soon as it sees the result finds the budget settled.
func TestBudgetIsSettledWithTheResult(t *testing.T) {
	t.Parallel()
	m := scripted(t, `rules: [{steps: [{text: a, usage: {prompt: 10, output: 5}}]}]`)
	budget := model.NewBudget(100_000, 0)
	for ev, err := range model.New(m, model.Policy{Budget: budget}).Generate(t.Context(), modeltest.Ask("t", "x")) {
		require.NoError(t, err)
		if ev.Result != nil {
			left, _ := budget.Left()
			require.Equal(t, 100_000-15, left)
		}
	}
}

func TestBudgetIsHard(t *testing.T) {
	t.Parallel()
	m := scripted(t, `rules: [{repeat: true, steps: [{text: a, usage: {prompt: 3000, output: 1000, thoughts: 500}}]}]`)
	budget := model.NewBudget(10_000, 0)
	p := model.New(m, model.Policy{Budget: budget})
	for range 2 {
		_, err := modeltest.Collect(t.Context(), p, modeltest.Ask("t", "x"))
		require.Nil(t, err)
	}
	left, limited := budget.Left()
	require.True(t, limited)
	require.Equal(t, 1000, left)
	_, err := modeltest.Collect(t.Context(), p, modeltest.Ask("t", "x"))
	require.Equal(t, model.OverBudget, err.Class)
	require.Len(t, m.Requests(), 2, "the call that does not fit is not sent")
	require.Equal(t, 9000, budget.Spent())

	small := modeltest.Ask("t", "x")
	small.Config = &genai.GenerateContentConfig{MaxOutputTokens: 100}
	_, err = modeltest.Collect(t.Context(), p, small)
	require.Nil(t, err, "a call that may write little still fits")
	resumed := model.NewBudget(10_000, 9_999)
	_, err = modeltest.Collect(t.Context(), model.New(m, model.Policy{Budget: resumed}), small)
	require.Equal(t, model.OverBudget, err.Class, "what was spent before a restart counts")
}

func TestBudgetUnderConcurrency(t *testing.T) {
	t.Parallel()
	m := scripted(t, `rules: [{task: "*", repeat: true, steps: [{text: a, usage: {prompt: 10, output: 90}}]}]`)
	budget := model.NewBudget(50_000, 0)
	p := model.New(m, model.Policy{Budget: budget})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { modeltest.Collect(t.Context(), p, modeltest.Ask(fmt.Sprint(i), "x")) })
	}
	wg.Wait()
	require.Equal(t, len(m.Requests())*100, budget.Spent())
	left, _ := budget.Left()
	require.Equal(t, 50_000-budget.Spent(), left, "nothing stays reserved")
}

func TestBudgetSettlesABrokenOffCall(t *testing.T) {
	t.Parallel()
	m := scripted(t, `rules: [{steps: [{text: a b, chunk: 1}]}]`)
	budget := model.NewBudget(100_000, 0)
	req := modeltest.Ask("t", strings.Repeat("x", 3500))
	for range model.New(m, model.Policy{Budget: budget}).Generate(t.Context(), req) {
		break
	}
	require.InDelta(t, 1000, budget.Spent(), 50, "the prompt was paid")
	left, _ := budget.Left()
	require.Equal(t, 100_000-budget.Spent(), left)
}
