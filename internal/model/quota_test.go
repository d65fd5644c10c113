package model

import (
	"encoding/json"
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

// Each message is one that the service has sent.
func TestQuotasThatOnlyTheMessageTells(t *testing.T) {
	t.Parallel()
	const head = "You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: " +
		"generativelanguage.googleapis.com/"
	full := "You have exhausted your capacity on this model. Your quota will reset after "
	for _, c := range []struct {
		message, quota string
		class          Class
		wait           bool
		after          time.Duration
	}{
		{
			head + "generate_content_free_tier_requests, limit: 0, model: gemini-2.5-pro\nPlease retry in 20.04466179s.",
			"generativelanguage.googleapis.com/generate_content_free_tier_requests", RateLimited, false, 20044661790,
		},
		{
			head + "generate_content_free_tier_requests, limit: 10, model: gemini-2.5-pro\nPlease retry in 44.5s.",
			"generativelanguage.googleapis.com/generate_content_free_tier_requests", RateLimited, true, 44500 * time.Millisecond,
		},
		{"Please retry in 450ms.", "", RateLimited, true, 450 * time.Millisecond},
		{"Please retry in 9h1m.", "", RateLimited, false, 541 * time.Minute},
		{"Quota exceeded (limit: 0)", "zero", RateLimited, false, 0},
		{"limit: 0.", "zero", RateLimited, false, 0},
		{"limit: 0.5, model: m", "", RateLimited, true, 0},
		{"limit: 02", "", RateLimited, true, 0},
		{"limit: 0.0 tokens", "zero", RateLimited, false, 0},
		{full + "5s.", "", Overloaded, false, 5 * time.Second},
		{full + "8h44m7s.", "", RateLimited, false, 8*time.Hour + 44*time.Minute + 7*time.Second},
		{"No capacity available for model gemini-3.1-flash-lite on the server", "", Overloaded, false, 0},
	} {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"code": 429, "message": c.message}})
		require.NoError(t, err)
		e := FromStatus(429, nil, body)
		require.Equal(t, c.class, e.Class, c.message)
		require.Equal(t, c.quota, e.Quota, c.message)
		require.Equal(t, c.wait, e.wait, c.message)
		require.Equal(t, c.after, e.RetryAfter, c.message)
	}
	for _, reason := range []string{"MODEL_CAPACITY_EXCEEDED", "MODEL_CAPACITY_EXHAUSTED"} {
		e := FromStatus(429, nil, []byte(`{"error":{"code":429,"message":"m","details":[{"reason":"`+reason+`"}]}}`))
		require.Equal(t, Overloaded, e.Class)
	}
}

func FuzzDelayIn(f *testing.F) {
	f.Add("Please retry in 44.5s.")
	f.Add("try again in 99999999999999h")
	f.Fuzz(func(t *testing.T, message string) { require.GreaterOrEqual(t, DelayIn(message), time.Duration(0)) })
}

func TestRetryAfterHeader(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "1.5": 1500 * time.Millisecond, "-4": 0, "soon": 0, "1e7": 0, "1e300": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		require.Equal(t, want, apiFault{}.retryDelay(http.Header{"Retry-After": {value}}, now), value)
	}
}

// What says nothing of a time leaves that to what says it less exactly.
func TestARetryDelayIsTheMostExactOne(t *testing.T) {
	t.Parallel()
	f := apiFault{Message: "Please retry in 9s.", Details: []apiDetail{{RetryDelay: "0s"}, {RetryDelay: "5s"}}}
	header := http.Header{"Retry-After": {"7"}}
	require.Equal(t, 5*time.Second, f.retryDelay(header, time.Time{}))
	f.Details = f.Details[:1]
	require.Equal(t, 7*time.Second, f.retryDelay(header, time.Time{}))
	header.Set("Retry-After", "0")
	require.Equal(t, 9*time.Second, f.retryDelay(header, time.Time{}))
}

func TestFaultsAreReadInEachForm(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"message":"m"}}`: "m", `[{"error":{"message":"m"}}]`: "m", `[]`: "[]", `[{}]`: "[{}]", `{}`: "{}", "text": "text",
	} {
		require.Equal(t, apiFault{Message: want}, parseFault([]byte(body)), body)
	}
}

// The quota that holds for longest is the one to name, and the first of equals.
func TestTheWorstQuotaIsNamed(t *testing.T) {
	t.Parallel()
	first, second := quotaViolation{QuotaID: "a-per-minute"}, quotaViolation{QuotaID: "b-per-minute"}
	daily, other := quotaViolation{QuotaID: "c-PerDay"}, quotaViolation{QuotaID: "d-PerDay"}
	id, kind := apiFault{Details: []apiDetail{{Violations: []quotaViolation{first, second}}}}.quota()
	require.Equal(t, "a-per-minute", id)
	require.Equal(t, quotaShort, kind)
	id, kind = apiFault{Details: []apiDetail{{Violations: []quotaViolation{first, daily, other, second}}}}.quota()
	require.Equal(t, "c-PerDay", id)
	require.Equal(t, quotaDay, kind)
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	require.Equal(t, 10*time.Minute, quotaSpend.wait(time.Second, now))
	require.Equal(t, 20*time.Minute, quotaSpend.wait(20*time.Minute, now))
	require.Equal(t, time.Hour, quotaDay.wait(time.Second, now))
	require.Equal(t, time.Second, quotaZero.wait(time.Second, now))
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
		599: Unavailable, 600: Invalid, 999: Invalid,
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
