package model_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
)

// granter grants what is needed, from so many tokens.
type granter struct {
	budget *model.Budget
	mu     sync.Mutex
	left   int64
	asked  int
}

func newGranter(left int64) *granter {
	g := &granter{left: left}
	g.budget = model.NewGrant(false, nil, g.ask)
	return g
}

func (g *granter) ask(context.Context) model.Asked {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.budget.Standing()
	g.asked++
	if s.Need > g.left {
		return model.Asked{Over: fmt.Sprintf("%d are left", g.left)}
	}
	g.left -= s.Need
	g.budget.Grant(s.Granted+s.Need, time.Now().Add(time.Minute))
	return model.Asked{}
}

// Calls take what they need of what is granted, wait for those under way, and are refused where nothing is under way and nothing
// more is granted.
func TestABudgetIsGrantedBitByBit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGranter(10_000)
		m := model.New(slow(15), model.Policy{Budget: g.budget})
		var wg sync.WaitGroup
		for i := range 6 { // two fit at once
			wg.Go(func() {
				_, err := modeltest.Collect(t.Context(), m, modeltest.Ask(fmt.Sprint(i), "x"))
				require.Nil(t, err)
			})
		}
		wg.Wait()
		require.Equal(t, 90, g.budget.Spent())
		require.Less(t, g.left, int64(2000))
		require.True(t, g.budget.Return())
		require.False(t, g.budget.Return(), "it has nothing left")
		require.Equal(t, model.Standing{Granted: 90, Spent: 90}, g.budget.Standing())
		_, err := modeltest.Collect(t.Context(), m, modeltest.Ask("a", "x"))
		require.Equal(t, model.OverBudget, err.Class)
		require.Regexp(t, `the call needs about 41\d\d tokens; \d+ are left`, err.Message)
		require.Equal(t, 90, g.budget.Spent(), "it was not sent")
	})
}

// Who is cut off begins no call with a grant whose time is over, and what it had left no longer counts.
func TestAGrantEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		var budget *model.Budget
		budget = model.NewGrant(false, nil, func(context.Context) model.Asked {
			if !back.Load() {
				return model.Asked{Wait: "the conductor does not answer"}
			}
			budget.Grant(budget.Standing().Spent+50_000, time.Now().Add(time.Minute))
			return model.Asked{}
		})
		budget.Grant(50_000, time.Now().Add(time.Minute))
		var waits []spec.Wait
		ctx := model.WithObserver(t.Context(), func(w spec.Wait) { waits = append(waits, w) })
		m := model.New(slow(15), model.Policy{Budget: budget})
		_, err := modeltest.Collect(ctx, m, modeltest.Ask("a", "x"))
		require.Nil(t, err)
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		done := make(chan *model.Error)
		go func() {
			_, err := modeltest.Collect(ctx, m, modeltest.Ask("b", "x"))
			done <- err
		}()
		time.Sleep(time.Hour) //nolint:forbidigo // in a bubble
		require.Equal(t, 15, budget.Spent())
		require.Len(t, waits, 1)
		require.Contains(t, waits[0].Why, "the conductor does not answer")
		require.EqualValues(t, 15, budget.Standing().Granted)
		back.Store(true)
		require.Nil(t, <-done)
	})
}

// A call that is broken off lets the next one ask.
func TestCallsThatWaitForAGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := model.NewGrant(false, nil, func(context.Context) model.Asked { return model.Asked{Wait: "others have it"} })
		m := model.New(slow(15), model.Policy{Budget: budget})
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan string, 2)
		call := func(ctx context.Context, name string) {
			_, err := modeltest.Collect(ctx, m, modeltest.Ask(name, "x"))
			results <- fmt.Sprintf("%s %v", name, err == nil)
		}
		go call(ctx, "first")
		synctest.Wait() // it has asked
		go call(t.Context(), "next")
		synctest.Wait()
		cancel()
		require.Equal(t, "first false", <-results)
		budget.Grant(5000, time.Now().Add(time.Hour))
		require.Equal(t, "next true", <-results)
	})
}
