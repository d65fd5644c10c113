package depot_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/depot"
)

// runOf is the rate limit of a run's process: it shares what services say.
func runOf(t *testing.T, dir, key string) *model.RateLimit {
	t.Helper()
	common, limit := depot.CommonIn(dir), model.NewRateLimit(nil)
	limit.Serve(map[string]string{"": model.Account("gemini", "https://service.example", key)})
	limit.Follow(common.News())
	limit.Share(func(w spec.Wait) { require.NoError(t, common.Told(w)) })
	return limit
}

func refusal(after string) *model.Error {
	return model.FromStatus(http.StatusTooManyRequests, http.Header{"Retry-After": {after}}, []byte("slow down"))
}

// What a service tells one run of a machine holds the others back that use the same key, and no others.
func TestRunsOfAMachineShareRateLimits(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), model.Candidate{Model: "m"}
	one, two, other := runOf(t, dir, "a long key"), runOf(t, dir, "a long key"), runOf(t, dir, "another key")
	until, _ := two.Until()
	require.True(t, until.IsZero())
	require.True(t, one.Refused(t.Context(), c, refusal("60"), 0))
	until, _ = two.Until()
	require.WithinDuration(t, time.Now().Add(time.Minute), until, 10*time.Second)
	until, _ = other.Until()
	require.True(t, until.IsZero())

	require.False(t, two.Refused(t.Context(), c, refusal("7200"), 0), "it is used up for long")
	_, _ = one.Until()
	limits := one.Limits()
	require.Len(t, limits, 2)
	require.Equal(t, spec.WaitQuota, limits[1].For)
	late := runOf(t, dir, "a long key") // a run that begins later
	_, _ = late.Until()
	require.Len(t, late.Limits(), 2)

	data, err := os.ReadFile(filepath.Join(dir, "common", "limits.json"))
	require.NoError(t, err)
	require.NotContains(t, string(data), "a long key")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "common", "limits.json"), []byte("{"), 0o600))
	damaged := runOf(t, dir, "a long key")
	_, _ = damaged.Until()
	require.Empty(t, damaged.Limits(), "a service tells again")
}
