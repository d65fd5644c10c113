package model

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuotaKinds(t *testing.T) {
	t.Parallel()
	detail := func(v string) string {
		return `{"error":{"code":429,"message":"m","details":[
		  {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` + v + `]},
		  {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12s"}]}}`
	}
	cases := []struct {
		name, body, quota string
		wait              bool
		least             time.Duration
	}{
		{"per minute", detail(`{"quotaId":"RequestsPerMinute","quotaValue":"10"}`), "RequestsPerMinute", true, 12 * time.Second},
		{"per day", detail(`{"quotaId":"RequestsPerDay","quotaValue":"10"}`), "RequestsPerDay", false, time.Minute},
		{"zero", detail(`{"quotaId":"FreeTier","quotaValue":"0"}`), "FreeTier", false, 12 * time.Second},
		{"spend", detail(`{"quotaId":"SpendPer10Min"}`), "SpendPer10Min", false, 10 * time.Minute},
		{"the worst of two", detail(`{"quotaId":"PerMinute"},{"quotaId":"TokensPerDay"}`), "TokensPerDay", false, 0},
		{"metric only", detail(`{"quotaMetric":"g/requests"}`), "g/requests", true, 12 * time.Second},
		{"spend by word", `{"error":{"code":429,"message":"Your spending limit is reached"}}`, "spend", false, 10 * time.Minute},
		{"nothing said", `{}`, "", true, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := FromStatus(429, nil, []byte(c.body))
			require.Equal(t, RateLimited, e.Class)
			require.Equal(t, c.quota, e.Quota)
			require.Equal(t, c.wait, e.wait)
			require.GreaterOrEqual(t, e.RetryAfter, c.least)
		})
	}
}

func TestRetryAfterHeader(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "1.5": 1500 * time.Millisecond, "-4": 0, "soon": 0, "1e300": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		require.Equal(t, want, apiFault{}.retryDelay(http.Header{"Retry-After": {value}}, now), value)
	}
}

func TestUntilMidnightInCalifornia(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Hour, untilMidnight(time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)))
	require.Equal(t, 24*time.Hour, untilMidnight(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)))
}

func TestStatusClasses(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]Class{
		400: Invalid, 401: Auth, 403: Auth, 404: Invalid, 408: Unavailable, 413: TooLong, 429: RateLimited, 499: Unavailable,
		500: Unavailable, 502: Unavailable, 503: Overloaded, 504: Unavailable, 529: Overloaded, 302: Invalid,
	} {
		require.Equal(t, want, FromStatus(status, nil, nil).Class, "%d", status)
	}
}

func TestLongMessagesAreBounded(t *testing.T) {
	t.Parallel()
	body := make([]byte, 100_000)
	for i := range body {
		body[i] = "é"[i%2]
	}
	require.LessOrEqual(t, len(FromStatus(500, nil, body).Error()), 700)
}
