package gateway_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/model/gateway"
	"divisi/internal/model/login"
	"divisi/internal/spec"
)

// An answer without the figures of its use, or without the end of its form, counts at least what was reserved.
func TestOnlyAnEndWithFiguresIsTheLastWord(t *testing.T) {
	t.Parallel()
	chunk := `{"object":"chat.completion.chunk","choices":[{"delta":{"content":"h"}}],"usage":{"prompt_tokens":45,"completion_tokens":1}}`
	for form, answers := range map[string]map[string]string{
		spec.GatewayAnthropic: {
			"no usage":       `{"type":"message","content":[]}`,
			"empty usage":    `{"type":"message","usage":{}}`,
			"half a usage":   `{"type":"message","usage":{"input_tokens":45}}`,
			"negative usage": `{"type":"message","usage":{"input_tokens":-45,"output_tokens":-7}}`,
			"negative end":   events([]string{asks[spec.GatewayAnthropic].stream[0], `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":-7}}`}),
			"no end":         events([]string{asks[spec.GatewayAnthropic].stream[0], `{"type":"message_delta","usage":{"output_tokens":7}}`}),
			"nothing":        "",
		},
		spec.GatewayOpenAI: {
			"no usage":       `{"object":"response"}`,
			"empty usage":    `{"object":"response","usage":{}}`,
			"negative usage": `{"object":"chat.completion","usage":{"prompt_tokens":-45,"completion_tokens":-7}}`,
			"early usage":    events([]string{chunk}),
			"early, then none": events([]string{
				chunk, `{"object":"chat.completion.chunk","choices":[{"delta":{"content":"h"}}]}`, "[DONE]",
			}),
			"in progress": events([]string{`{"type":"response.in_progress","response":{"usage":{"input_tokens":45,"output_tokens":1}}}`}),
		},
		spec.GatewayGemini: {
			"no usage":       `{"candidates":[{"finishReason":"STOP"}]}`,
			"empty usage":    `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{}}`,
			"negative usage": `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":-45,"candidatesTokenCount":-7}}`,
			"no end":         events(asks[spec.GatewayGemini].stream[:1]),
		},
	} {
		for name, answer := range answers {
			t.Run(form+" "+name, func(t *testing.T) {
				t.Parallel()
				a, budget := asks[form], model.NewBudget(spec.Tokens(1_000), 0, nil)
				b := newBench(t, gateway.Service{Form: form}, budget, func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, answer)
				})
				_, _, err := b.ask(t.Context(), a, token)
				require.NoError(t, err)
				require.Len(t, b.used(), 1)
				use := b.used()[0]
				require.True(t, use.Estimated)
				require.GreaterOrEqual(t, use.Usage.Total(), b.begun[0].Usage.Total())
				require.EqualValues(t, use.Usage.Total(), budget.Standing().Spent)
			})
		}
	}
}

// The end of a chat is its own mark; the figures are those of the event before it.
func TestTheEndOfAChat(t *testing.T) {
	t.Parallel()
	a := asks[spec.GatewayOpenAI]
	a.path = "/v1/chat/completions"
	b := newBench(t, gateway.Service{Form: spec.GatewayOpenAI}, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Quota-Of", key)
		_, _ = io.WriteString(w, events([]string{
			`{"object":"chat.completion.chunk","choices":[{"delta":{"content":"h"}}],"usage":null}`,
			`{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":45,"completion_tokens":7}}`, "[DONE]",
		}))
	})
	_, _, err := b.ask(t.Context(), a, token)
	require.NoError(t, err)
	require.Equal(t, spec.Usage{Calls: 1, Prompt: 45, Output: 7}, b.used()[0].Usage)
	require.False(t, b.used()[0].Estimated)
	require.NotContains(t, b.header, "X-Quota-Of")
}

// A service that has the request may answer it, and bill it, although its program has gone.
func TestASentCallWithoutAStatusCountsItsReservation(t *testing.T) {
	t.Parallel()
	a, budget := asks[spec.GatewayAnthropic], model.NewBudget(spec.Tokens(1_000), 0, nil)
	came := make(chan struct{})
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, budget, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(came)
		<-r.Context().Done()
	})
	ctx, hangUp := context.WithCancel(t.Context())
	go func() { <-came; hangUp() }()
	_, _, err := b.ask(ctx, a, token)
	require.Error(t, err)
	require.Eventually(t, func() bool { return len(b.used()) == 1 }, 5*time.Second, time.Millisecond)
	require.True(t, b.used()[0].Estimated)
	require.Equal(t, spec.Usage{Calls: 1, Prompt: len(a.body), Output: 100}, b.used()[0].Usage)
	require.EqualValues(t, len(a.body)+100, budget.Standing().Spent)
}

// An answer that a machine on the way has lost may have been made, and be billed; a refusal of the service itself is free.
func TestALostAnswerCountsItsReservation(t *testing.T) {
	t.Parallel()
	a := asks[spec.GatewayAnthropic]
	for status, counts := range map[int]bool{
		http.StatusBadGateway: true, http.StatusGatewayTimeout: true, 524: true, http.StatusServiceUnavailable: false, 529: false,
	} {
		budget := model.NewBudget(spec.Tokens(1_000), 0, nil)
		b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, budget, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		})
		got, _, err := b.ask(t.Context(), a, token)
		require.NoError(t, err)
		require.Equal(t, status, got)
		if !counts {
			require.Zero(t, budget.Standing().Spent, status)
			continue
		}
		require.EqualValues(t, len(a.body)+100, budget.Standing().Spent, status)
		require.True(t, b.used()[0].Estimated)
	}
}

// A program that gives up in a wait for the rate limit has made no fault.
func TestAWaitThatIsGivenUpIsNoFault(t *testing.T) {
	t.Parallel()
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := b.ask(ctx, asks[spec.GatewayAnthropic], token)
		ended <- err
	}()
	require.Eventually(t, func() bool { until, _ := b.limit.Until(); return until.After(time.Now()) }, 5*time.Second, time.Millisecond)
	hangUp()
	require.Error(t, <-ended)
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.Equal(b.refused, []model.Class{model.RateLimited})
	}, 5*time.Second, time.Millisecond)
	require.Empty(t, b.used())
}

// What could not be sent costs nothing.
func TestACallThatCannotBeSentIsFree(t *testing.T) {
	t.Parallel()
	budget := model.NewBudget(spec.Tokens(1_000), 0, nil)
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, budget, nil)
	b.service.Close()
	status, _, err := b.ask(t.Context(), asks[spec.GatewayAnthropic], token)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadGateway, status)
	require.Empty(t, b.used())
	require.Zero(t, budget.Standing().Spent)
}

// A quota that is used up is told to the log and to the terminal: not with the key.
func TestAQuotaThatTellsTheKey(t *testing.T) {
	t.Parallel()
	for form, a := range asks {
		for _, words := range []string{"the key " + key + " is over its quota", `the key ` + `\u0073` + key[1:] + ` is over its quota`} {
			b := newBench(t, gateway.Service{Form: form}, nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7200")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, `{"error":{"message":"`+words+`","details":[{"violations":[{"quotaId":"`+key+`PerDay"}]}]}}`)
			})
			_, body, err := b.ask(t.Context(), a, token)
			require.NoError(t, err)
			require.NotContains(t, body, key[1:])
			require.Len(t, b.why, 1)
			require.NotContains(t, b.why[0], key[1:])
			for _, w := range append(b.waits, b.limit.Limits()...) {
				require.NotContains(t, w.String()+w.Quota, key[1:])
			}
		}
	}
}

// A model whose quota is used up for hours is not asked again, and a program that begins waits for it.
func TestAQuotaOfHoursIsAwaited(t *testing.T) {
	t.Parallel()
	asked := 0
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, nil, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	for range 2 {
		status, _, err := b.ask(t.Context(), asks[spec.GatewayAnthropic], token)
		require.NoError(t, err)
		require.Equal(t, http.StatusTooManyRequests, status)
	}
	require.Equal(t, 1, asked)
	require.Equal(t, []model.Class{model.RateLimited, model.RateLimited}, b.refused)
	require.Equal(t, spec.WaitQuota, b.waits[len(b.waits)-1].For, "the second attempt tells it too")
	g, err := gateway.New(gateway.Service{Form: spec.GatewayAnthropic, Base: b.service.URL, Key: key}, nil, b.limit)
	require.NoError(t, err)
	defer g.Close()
	late := g.Await(t.Context(), time.Now().Add(time.Hour))
	require.Equal(t, model.RateLimited, late.Class)
	ctx, cancel := context.WithCancel(model.WithObserver(t.Context(), func(w spec.Wait) { b.waits = append(b.waits, w) }))
	time.AfterFunc(10*time.Millisecond, cancel)
	require.Equal(t, model.Cancelled, g.Await(ctx, time.Now().Add(3*time.Hour)).Class)
	require.WithinDuration(t, time.Now().Add(2*time.Hour), b.waits[len(b.waits)-1].Until, time.Minute)
	other, err := gateway.New(gateway.Service{Form: spec.GatewayAnthropic, Base: b.service.URL, Key: "another key"}, nil, b.limit)
	require.NoError(t, err)
	defer other.Close()
	require.Nil(t, other.Await(t.Context(), time.Now()))
}

// The quota of a login in a file is that of an account of its own, for which a program waits too.
func TestTheQuotaOfALoginIsAwaited(t *testing.T) {
	t.Parallel()
	for _, s := range []gateway.Service{{Key: key}, {Key: login.Mark + "credentials.json", Login: true}} {
		s.Form = spec.GatewayAnthropic
		limit := model.NewRateLimit(nil)
		g, err := gateway.New(s, nil, limit)
		require.NoError(t, err)
		defer g.Close()
		asked := model.Candidate{Model: "claude-x"}
		limit.Refused(t.Context(), asked, model.FromStatus(http.StatusTooManyRequests, http.Header{"Retry-After": {"7200"}}, nil), 0)
		late := g.Await(t.Context(), time.Now())
		require.NotNil(t, late, "login %v", s.Login)
		require.Equal(t, model.RateLimited, late.Class)
	}
}
