package model_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

func TestARestIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{})
		f.set(overloaded(), primary)
		var probes []time.Duration
		began := time.Now()
		for time.Since(began) < 20*time.Minute {
			answer(t, m, askChain(primary, second))
			if f.set(nil)[0] == primary {
				probes = append(probes, time.Since(began))
			}
			<-time.After(time.Second)
		}
		var rests []time.Duration
		for i := 1; i < len(probes); i++ {
			rests = append(rests, probes[i]-probes[i-1])
		}
		require.Equal(t, []time.Duration{
			30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute,
		}, rests)
	})
}

func TestOneCallerProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{})
		f.set(overloaded(), primary)
		f.slow = time.Second
		var wg sync.WaitGroup
		for range 8 { // they all fail at the same time: one rest, not eight
			wg.Go(func() { answer(t, m, askChain(primary, second)) })
		}
		wg.Wait()
		f.set(nil, primary)
		<-time.After(30 * time.Second)
		for range 8 {
			wg.Go(func() { answer(t, m, askChain(primary, second)) })
		}
		wg.Wait()
		probes := 0
		for _, name := range f.set(nil) {
			if name == primary {
				probes++
			}
		}
		require.Equal(t, 1, probes)
	})
}

func TestAProbeThatIsBrokenOffLeavesTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{})
		f.set(overloaded(), primary)
		answer(t, m, askChain(primary, second))
		<-time.After(30 * time.Second)
		f.set(nil, primary)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := modeltest.Collect(ctx, m, askChain(primary, second))
		require.Equal(t, model.Cancelled, err.Class)
		for range m.Generate(t.Context(), askChain(primary, second)) {
			break
		}
		require.Equal(t, primary, answer(t, m, askChain(primary, second)))
	})
}

func TestADailyQuotaFallsBackUntilItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := chain(model.Policy{})
		f.set(model.FromStatus(429, nil, []byte(`{"error":{"code":429,"details":[{
			"@type":"type.googleapis.com/google.rpc.QuotaFailure",
			"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel","quotaValue":"10"}]}]}}`)), primary)
		require.Equal(t, second, answer(t, m, askChain(primary, second)))
		f.set(nil, primary)
		<-time.After(time.Hour)
		require.Equal(t, second, answer(t, m, askChain(primary, second)), "it rests until midnight")
		<-time.After(24 * time.Hour)
		require.Equal(t, primary, answer(t, m, askChain(primary, second)))
	})
}
