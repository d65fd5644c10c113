package model_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/internal/testkit/modeltest"
)

func stalled() *model.Error { return &model.Error{Class: model.Stalled, Message: "nothing came"} }

func refusedConnection() *model.Error {
	return &model.Error{Class: model.Unavailable, Message: "connection refused", Err: errors.New("connection refused")}
}

func TestAnOutageIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, fault := range []func() *model.Error{refusedConnection, overloaded, stalled} {
		synctest.Test(t, func(t *testing.T) {
			limit := model.NewRateLimit(nil)
			f, m, waits := chain(model.Policy{Outage: 10 * time.Minute, RateLimit: limit})
			f.set(fault(), primary)
			began := time.Now()
			sent := make(chan []string, 1)
			var end time.Time
			var other *model.Error
			var asked time.Duration
			go func() {
				<-time.After(100 * time.Second)
				end, _ = limit.Until()
				_, other = modeltest.Collect(t.Context(), m, askChain(second))
				asked = time.Since(began)
				sent <- f.set(nil, primary)
			}()
			res, err := modeltest.Collect(t.Context(), m, askChain(primary))
			require.Nil(t, err)
			require.Equal(t, primary, res.Model)
			require.Equal(t, 2*time.Minute, time.Since(began))
			require.Len(t, *waits, 4, "one event a wait")
			w := (*waits)[0]
			require.Equal(t, []any{spec.WaitOutage, primary, 2}, []any{w.For, w.Model, w.Try})
			require.Equal(t, began.Add(30*time.Second), w.Until)
			require.Equal(t, began.Add(10*time.Minute), w.End)
			require.Equal(t, []string{primary, primary, primary, primary, second}, <-sent, "one try each half minute")
			require.Equal(t, began.Add(2*time.Minute), end, "clocks stop")
			require.Nil(t, other, "other calls go on")
			require.Equal(t, 100*time.Second, asked)
			require.Len(t, f.set(nil), 1)
		})
	}
}

func TestAnOutageThatLastsIsATypedEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{Outage: 100 * time.Second})
		f.set(refusedConnection(), primary)
		began := time.Now()
		_, err := modeltest.Collect(t.Context(), m, askChain(primary))
		require.Equal(t, model.Unavailable, err.Class)
		require.Contains(t, err.Message, "connection refused (try 5, given up after 1m40s)")
		require.Equal(t, 100*time.Second, time.Since(began), "the last try is at the very end")
		require.Len(t, f.set(nil), 5)
	})
}

func TestWhatIsNoOutageIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []*model.Error{
			{Class: model.Auth},
			{Class: model.Invalid},
			{Class: model.Truncated},
			{Class: model.RateLimited},
			{Class: model.Overloaded, RetryAfter: time.Hour},
		} {
			f, m, _ := chain(model.Policy{Outage: 10 * time.Minute})
			f.set(fault, primary)
			began := time.Now()
			_, err := modeltest.Collect(t.Context(), m, askChain(primary))
			require.Equal(t, fault.Class, err.Class)
			require.Zero(t, time.Since(began))
		}
	})
}

func TestACancelledOutageEndsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{Outage: 10 * time.Minute})
		f.set(refusedConnection(), primary)
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		began := time.Now()
		_, err := modeltest.Collect(ctx, m, askChain(primary))
		require.NotNil(t, err)
		require.Equal(t, 45*time.Second, time.Since(began))
	})
}

func TestAStallIsRetriedThenTheFallbackIsAsked(t *testing.T) {
	t.Parallel()
	srv := geminitest.Start(t, geminitest.Options{Handle: func(r geminitest.Request) geminitest.Answer {
		if r.Model == primary {
			return geminitest.Answer{Fault: "stall", Times: 1 << 30, Text: "x"}
		}
		return geminitest.Answer{Text: "it is me"}
	}})
	budget := model.NewBudget(spec.Tokens(1_000_000), 0, nil)
	g := newGemini(t, model.Options{BaseURL: srv.URL, Patience: func(name string) (first, silence time.Duration) {
		if name == primary {
			return 100 * time.Millisecond, 0
		}
		return 0, 0
	}})
	m := model.New(g, model.Policy{Budget: budget, Retry: model.Retry{First: time.Millisecond, Max: time.Millisecond}})
	waits := &[]spec.Wait{}
	ctx := model.WithObserver(t.Context(), func(w spec.Wait) { *waits = append(*waits, w) })
	res, err := modeltest.Collect(ctx, m, askChain(primary, second))
	require.Nil(t, err)
	require.Equal(t, second, res.StandIn)
	require.Equal(t, 2, res.Wasted.Calls, "both stalled calls may have been paid")
	require.Equal(t, res.Usage.Add(res.Wasted).Total(), budget.Spent())
	require.Len(t, srv.Requests(), 3)
	require.Len(t, *waits, 2)
	require.Equal(t, []string{spec.WaitRetry, spec.WaitFallback}, []string{(*waits)[0].For, (*waits)[1].For})
	require.Equal(t, second, (*waits)[1].Instead)
}

func TestAModelWithoutRoomIsLeftAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := model.NewRateLimit(nil)
		f, m, _ := chain(model.Policy{RateLimit: limit, Retry: model.Retry{Tries: 5}})
		f.set(model.FromStatus(http.StatusTooManyRequests, nil,
			[]byte(`{"error":{"message":"You have exhausted your capacity on this model. Your quota will reset after 5s."}}`)), primary)
		began := time.Now()
		res, err := modeltest.Collect(t.Context(), m, askChain(primary, second))
		require.Nil(t, err)
		require.Equal(t, second, res.StandIn)
		require.Zero(t, time.Since(began))
		until, _ := limit.Until()
		require.True(t, until.IsZero(), "no other call waits")
		require.Equal(t, []string{primary, second}, f.set(nil))
		_, err = modeltest.Collect(t.Context(), m, askChain(third))
		require.Nil(t, err)
		require.Zero(t, time.Since(began))
	})
}

func TestAQuotaThatIsUsedUpIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		day := model.FromStatus(http.StatusTooManyRequests, nil, []byte(`{"error":{"code":429,"message":"m","details":[
		  {"@type":"x","violations":[{"quotaId":"RequestsPerDay","quotaValue":"10"}]}]}}`))
		f, m, waits := chain(model.Policy{Outage: time.Hour})
		f.set(day, primary)
		ctx := t.Context()
		_, err := modeltest.Collect(ctx, m, askChain(primary))
		require.Equal(t, model.RateLimited, err.Class)
		require.Contains(t, err.Message, `waiting for quota "RequestsPerDay" of `+primary+" until ")
		require.Len(t, *waits, 1)
		w := (*waits)[0]
		require.Equal(t, []any{spec.WaitQuota, primary, "RequestsPerDay"}, []any{w.For, w.Model, w.Quota})
		require.True(t, w.Until.After(time.Now().Add(10*time.Minute)))
		_, err = modeltest.Collect(ctx, m, askChain(primary))
		require.Equal(t, "RequestsPerDay", err.Quota)
		require.Len(t, f.set(nil), 1, "the second call was not sent")

		f, m, _ = chain(model.Policy{RateLimit: model.NewRateLimit(map[string]spec.Wait{primary: w})})
		res, err := modeltest.Collect(ctx, m, askChain(primary, second))
		require.Nil(t, err)
		require.Equal(t, second, res.StandIn)
		require.Equal(t, []string{second}, f.set(nil), "a resumed process knows")
		<-time.After(time.Until(w.Until))
		_, err = modeltest.Collect(ctx, m, askChain(primary))
		require.Nil(t, err)
		require.Equal(t, []string{primary}, f.set(nil), "it is free again")
	})
}

// A call waits for a quota of hours where it may, a resumed process for what is left; else it fails at once, as it does where the
// service names a later time than it may wait for in all.
func TestACallOutwaitsAQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hours := func(h string) *model.Error {
			return model.FromStatus(http.StatusTooManyRequests, http.Header{"Retry-After": {h}}, nil)
		}
		began, limit := time.Now(), model.NewRateLimit(nil)
		f, m, waits := chain(model.Policy{RateLimit: limit, Quota: 6 * time.Hour})
		f.set(hours("18000"), primary)
		done := make(chan *model.Error)
		go func() { _, err := modeltest.Collect(t.Context(), m, askChain(primary)); done <- err }()
		time.Sleep(time.Hour) //nolint:forbidigo // in a bubble
		f.set(nil, primary)
		paused, _ := limit.Until()
		require.Equal(t, began.Add(5*time.Hour), paused, "the clocks of attempts stop")
		w := (*waits)[0]
		require.Equal(t, []any{spec.WaitQuota, began.Add(5 * time.Hour)}, []any{w.For, w.Until})

		resumed, again, _ := chain(model.Policy{RateLimit: model.NewRateLimit(map[string]spec.Wait{primary: w}), Quota: 6 * time.Hour})
		_, err := modeltest.Collect(t.Context(), again, askChain(primary))
		require.Nil(t, err)
		require.Len(t, resumed.set(nil), 1)
		require.GreaterOrEqual(t, time.Since(began), 5*time.Hour)
		require.Nil(t, <-done)
		require.Less(t, time.Since(began), 5*time.Hour+time.Minute)

		f.set(hours("18000"), primary)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err = modeltest.Collect(ctx, m, askChain(primary))
		require.Equal(t, model.Cancelled, err.Class, "who calls can end the wait")
		time.Sleep(5 * time.Hour) //nolint:forbidigo // in a bubble
		f.set(hours("25000"), primary)
		began = time.Now()
		_, err = modeltest.Collect(t.Context(), m, askChain(primary))
		require.Equal(t, model.RateLimited, err.Class)
		require.Zero(t, time.Since(began), "it may not wait for so long")
	})
}

func TestAShortKeyIsNotLookedForInWords(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"x": "xerxes said long-key", "": "xerxes said long-key", "long-key": "xerxes said [key]"} {
		require.Equal(t, want, (&model.Error{Message: "xerxes said long-key"}).Hide(key).Message)
	}
}

// What ends a call that waits for its service is the caller, not the outage.
func TestAWaitForAServiceEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{Outage: time.Hour})
		f.set(refusedConnection(), primary)
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		_, err := modeltest.Collect(ctx, m, askChain(primary))
		require.Equal(t, model.Cancelled, err.Class)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
