package model_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
)

// A caller that makes its next call as soon as it sees the result finds the budget settled.
func TestBudgetIsSettledWithTheResult(t *testing.T) {
	t.Parallel()
	m := scripted(t, `rules: [{steps: [{text: a, usage: {prompt: 10, output: 5}}]}]`)
	budget := model.NewBudget(spec.Tokens(100_000), 0, nil)
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
	budget := model.NewBudget(spec.Tokens(10_000), 0, nil)
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
	resumed := model.NewBudget(spec.Tokens(10_000), 9_999, nil)
	_, err = modeltest.Collect(t.Context(), model.New(m, model.Policy{Budget: resumed}), small)
	require.Equal(t, model.OverBudget, err.Class, "what was spent before a restart counts")
}

func TestBudgetUnderConcurrency(t *testing.T) {
	t.Parallel()
	m := scripted(t, `rules: [{task: "*", repeat: true, steps: [{text: a, usage: {prompt: 10, output: 90}}]}]`)
	budget := model.NewBudget(spec.Tokens(50_000), 0, nil)
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
	budget := model.NewBudget(spec.Tokens(100_000), 0, nil)
	req := modeltest.Ask("t", strings.Repeat("x", 3500))
	for range model.New(m, model.Policy{Budget: budget}).Generate(t.Context(), req) {
		break
	}
	require.Equal(t, 25_000, budget.Spent(), "what was reserved is counted: a quarter of the budget")
	left, _ := budget.Left()
	require.Equal(t, 100_000-budget.Spent(), left)
}

// slow is a model whose answers take a second and use so many tokens each.
func slow(tokens int) modelFunc {
	return func(yield func(model.Event, error) bool) {
		<-time.After(time.Second)
		yield(model.Event{Result: &model.Result{
			Content: genai.NewContentFromText("a", genai.RoleModel), Usage: spec.Usage{Calls: 1, Output: tokens},
		}}, nil)
	}
}

// Calls under way have reserved more than they use: what does not fit beside them waits, and is refused only where it does not fit
// alone.
func TestACallWaitsForThoseThatReservedTheBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ uses, answered, seconds int }{
		{uses: 15, answered: 6, seconds: 3}, // two fit at once
		{uses: 2500, answered: 3, seconds: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			budget, begin := model.NewBudget(spec.Tokens(10_000), 0, nil), time.Now()
			m := model.New(slow(c.uses), model.Policy{Budget: budget})
			var wg sync.WaitGroup
			var mu sync.Mutex
			var waits []spec.Wait
			refused := []string{}
			ctx := model.WithObserver(t.Context(), func(w spec.Wait) {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, w)
			})
			for i := range 6 {
				wg.Go(func() {
					if _, err := modeltest.Collect(ctx, m, modeltest.Ask(fmt.Sprint(i), "x")); err != nil {
						mu.Lock()
						defer mu.Unlock()
						refused = append(refused, fmt.Sprintf("%s: %s", err.Class, err.Message))
					}
				})
			}
			wg.Wait()
			require.Len(t, refused, 6-c.answered)
			for _, words := range refused {
				require.Contains(t, words, "budget: the call needs about 41")
				require.Contains(t, words, fmt.Sprintf("%d of 10000 are spent", c.answered*c.uses))
				require.NotContains(t, words, "reserved")
			}
			require.Equal(t, c.answered*c.uses, budget.Spent())
			require.Equal(t, time.Duration(c.seconds)*time.Second, time.Since(begin))
			require.Len(t, waits, 4, "each tells once that it waits")
			require.Contains(t, waits[0].String(), "waiting for the budget: the call needs about 41")
			require.Contains(t, waits[0].String(), "0 of 10000 are spent and 8")
		})
	}
}

func TestACallThatWaitsForTheBudgetIsBrokenOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model.New(slow(15), model.Policy{Budget: model.NewBudget(spec.Tokens(5_000), 0, nil)})
		done := make(chan *model.Error)
		go func() {
			_, err := modeltest.Collect(t.Context(), m, modeltest.Ask("a", "x"))
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := modeltest.Collect(ctx, m, modeltest.Ask("b", "x"))
		require.Equal(t, model.Cancelled, err.Class)
		require.Nil(t, <-done)
	})
}
