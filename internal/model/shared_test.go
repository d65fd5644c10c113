package model_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
)

// accounted is a model that is served under an account.
type accounted struct{ model.Model }

func (accounted) Accounts() map[string]string { return map[string]string{"": "acc"} }

// A limit that another worker told holds until it is dropped: calls that wait go on at once, and a quota is not called its own.
func TestWhatAnotherWorkerToldIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := model.NewRateLimit(nil)
		var shared []spec.Wait
		limit.Share(func(w spec.Wait) { shared = append(shared, w) })
		p := model.New(accounted{scripted(t, `rules: [{steps: [{text: a}]}]`)}, model.Policy{RateLimit: limit, Retry: model.Retry{Tries: 1}})
		began := time.Now()
		told := spec.Wait{For: spec.WaitLimit, Quota: "q", Account: "acc", Until: began.Add(time.Minute), From: "w2"}
		limit.Take(told)
		require.Equal(t, []spec.Wait{told}, limit.Limits())
		done := make(chan *model.Error)
		go func() {
			_, err := modeltest.Collect(t.Context(), p, modeltest.Ask("a", "x"))
			done <- err
		}()
		synctest.Wait()
		limit.Drop(func(w spec.Wait) bool { return w.From == "w3" })
		synctest.Wait()
		require.Len(t, limit.Limits(), 1)
		limit.Drop(func(w spec.Wait) bool { return w.From == "w2" })
		require.Nil(t, <-done)
		require.Equal(t, began, time.Now())
		require.Empty(t, limit.Limits())

		told.For, told.Until, told.Model = spec.WaitQuota, began.Add(20*time.Hour), model.DefaultModel
		limit.Take(told)
		request := modeltest.Ask("a", "x")
		_, err := modeltest.Collect(t.Context(), p, request)
		require.NotNil(t, err)
		require.Empty(t, shared, "no service has said it here")
		limit.Drop(func(w spec.Wait) bool { return w.From == "w2" })
		_, err = modeltest.Collect(t.Context(), p, request)
		require.Nil(t, err)
	})
}
