package gateway_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/model/gateway"
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
