package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/model/gateway"
	"divisi/internal/spec"
)

// What the service adds to a prompt has no bound in the bytes of the request: under a budget the call needs whole windows, and a
// refusal names the field. Without a budget it is passed on.
func TestWhatAServiceAddsIsReserved(t *testing.T) {
	t.Parallel()
	const responses, chat, messages, content = "/v1/responses", "/v1/chat/completions", "/v1/messages", "/v1beta/models/gemini-x:generateContent"
	for _, c := range []struct{ form, path, more, says string }{
		{spec.GatewayOpenAI, responses, `"previous_response_id":"r"`, "previousresponseid"},
		{spec.GatewayOpenAI, responses, `"conversation":"conv_1"`, "conversation"},
		{spec.GatewayOpenAI, responses, `"prompt":{"id":"p"}`, "prompt"},
		{spec.GatewayOpenAI, responses, `"input":[{"type":"item_reference","id":"m"}]`, "input: item_reference"},
		{spec.GatewayOpenAI, responses, `"input":[{"id":"m"}]`, "input: "},
		{spec.GatewayOpenAI, responses, `"input":[{"type":"reasoning","id":"r","summary":[]}]`, "input: reasoning"},
		{spec.GatewayOpenAI, responses, `"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,eA=="}]}]`, "an image"},
		{spec.GatewayOpenAI, responses, `"tools":[{"type":"function","name":"a"},{"type":"mcp","server_url":"https://x.example"}]`, "tools: mcp"},
		{spec.GatewayOpenAI, responses, `"tools":[{"type":"web_search"}]`, "tools: web_search"},
		{spec.GatewayOpenAI, responses, `"tools":[{"type":"new_of_tomorrow"}]`, "tools: new_of_tomorrow"},
		{spec.GatewayOpenAI, chat, `"web_search_options":{}`, "websearchoptions"},
		{spec.GatewayOpenAI, chat, `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"eA=="}}]}]`, "a file"},
		{spec.GatewayAnthropic, messages, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, "tools: web_search_20250305"},
		{spec.GatewayAnthropic, messages, `"tools":[{"type":"code_execution_20250825","name":"x"}]`, "tools: code_execution_20250825"},
		{spec.GatewayAnthropic, messages, `"mcp_servers":[{"type":"url","url":"https://x.example"}]`, "mcpservers"},
		{spec.GatewayAnthropic, messages, `"container":"c"`, "container"},
		{spec.GatewayAnthropic, messages, `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"eA=="}}]}]`, "an image"},
		{spec.GatewayGemini, content, `"tools":[{"fileSearch":{}}]`, "tools: filesearch"},
		{spec.GatewayGemini, content, `"tools":[{"functionDeclarations":[],"google_search_retrieval":{}}]`, "tools: googlesearchretrieval"},
		{spec.GatewayGemini, content, `"tools":[{"googleMaps":{}}]`, "tools: googlemaps"},
		{spec.GatewayGemini, content, `"tools":[{"urlContext":{}}]`, "tools: urlcontext"},
		{spec.GatewayGemini, content, `"cachedContent":"cachedContents/1"`, "cachedcontent"},
		{spec.GatewayGemini, content, `"contents":[{"parts":[{"inlineData":{"mimeType":"application/pdf","data":"eA=="}}]}]`, "a file"},
	} {
		a := asks[c.form]
		a.path, a.body = c.path, `{"model":"x","max_tokens":9,"max_output_tokens":9,`+c.more+`}`
		switch c.form {
		case spec.GatewayAnthropic:
			a.body = `{"model":"x","max_tokens":9,` + c.more + `}`
		case spec.GatewayGemini:
			a.body = `{"generationConfig":{"maxOutputTokens":9},` + c.more + `}`
		}
		whole := a.whole
		for i, budget := range []*model.Budget{model.NewBudget(spec.Tokens(20_000), 0, nil), model.NewBudget(spec.Budget{}, 0, nil), nil} {
			b := newBench(t, gateway.Service{Form: c.form}, budget, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole) })
			status, body, err := b.ask(t.Context(), a, token)
			require.NoError(t, err)
			if i > 0 {
				require.Equal(t, http.StatusOK, status, body)
				continue
			}
			require.Equal(t, http.StatusForbidden, status, c.more)
			require.Contains(t, body, c.says)
		}
	}
}

// What an agent's own calls have is bounded by its bytes.
func TestWhatAnAgentSendsIsNoLink(t *testing.T) {
	t.Parallel()
	for form, body := range map[string]string{
		spec.GatewayAnthropic: `{"model":"claude-x","max_tokens":9,"system":"s","tools":[{"name":"a","input_schema":{"type":"object"}}],
			"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"}]}],"metadata":{"user_id":"u"},"thinking":{"type":"enabled"}}`,
		spec.GatewayOpenAI: `{"model":"gpt-x","max_output_tokens":9,"previous_response_id":null,"store":false,"include":["reasoning.encrypted_content"],
			"tools":[{"type":"function","name":"a","parameters":{"type":"object"}},{"type":"custom","name":"b"}],"input":[{"role":"user","content":"x"},
			{"type":"reasoning","encrypted_content":"eA=="},{"type":"function_call","name":"a"},{"type":"function_call_output","output":"x"}]}`,
		spec.GatewayGemini: `{"generationConfig":{"maxOutputTokens":9},"contents":[{"parts":[{"text":"x"}]}],
			"tools":[{"functionDeclarations":[{"name":"a"}]}]}`,
	} {
		a := asks[form]
		a.body = body
		b := newBench(t, gateway.Service{Form: form}, model.NewBudget(spec.Tokens(2_000), 0, nil), func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, a.whole)
		})
		status, said, err := b.ask(t.Context(), a, token)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, said)
		require.Equal(t, len(body), b.begun[0].Usage.Prompt)
	}
}

// An answer without a bound, of a model that is not known, can fill a window.
func TestAnUnknownModelWithoutABound(t *testing.T) {
	t.Parallel()
	a := asks[spec.GatewayOpenAI]
	a.body = `{"model":"gpt-of-tomorrow","input":"x"}`
	b := newBench(t, gateway.Service{Form: spec.GatewayOpenAI}, model.NewBudget(spec.Tokens(20_000), 0, nil), nil)
	status, body, err := b.ask(t.Context(), a, token)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, body, "set the most tokens of an answer")
}

// A program that gives up while its call waits for the budget is told of as the budget.
func TestGivingUpAWaitForTheBudget(t *testing.T) {
	t.Parallel()
	a, budget := asks[spec.GatewayAnthropic], model.NewBudget(spec.Tokens(300), 0, nil)
	other, fault := budget.Reserve(t.Context(), model.Need{Output: 250}, nil)
	require.Nil(t, fault)
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, budget, nil)
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		for b.told() == 0 {
			<-time.After(time.Millisecond)
		}
		giveUp()
	}()
	_, _, err := b.ask(ctx, a, token)
	require.Error(t, err)
	require.Eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.refused) == 1 }, 5*time.Second, time.Millisecond)
	require.Equal(t, model.OverBudget, b.refused[0])
	require.Contains(t, b.why[0], "gave up waiting")
	budget.Settle(&other, spec.Usage{}, "", false)
}

func (b *bench) told() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waits)
}

// A request that is not passed on is refused before its body is read, and bodies that are read have room.
func TestBodiesAreReadWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	g, err := gateway.New(gateway.Service{Form: spec.GatewayAnthropic, Key: key}, model.NewBudget(spec.Tokens(10), 0, nil), model.NewRateLimit(nil))
	require.NoError(t, err)
	door := g.For(gateway.Attempt{Token: token, Wait: func(spec.Wait) {}, Refused: func(*model.Error) {}})
	for _, c := range []struct{ method, path, token string }{
		{http.MethodPost, "/v1/messages", "other"},
		{http.MethodPost, "/v1/files", token},
		{http.MethodGet, "/v1/messages", token},
		{http.MethodGet, "/v1/models", token},
	} {
		body := &unread{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, c.method, c.path, body)
		r.Header.Set("X-Api-Key", c.token)
		door.ServeHTTP(httptest.NewRecorder(), r)
		require.Zero(t, body.n.Load(), c)
	}

	most := atomic.Int64{}
	held := atomic.Int64{}
	done := make(chan struct{})
	for range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", &counted{strings.NewReader(`{"model":"x"}`), &held, &most})
			r.Header.Set("X-Api-Key", token)
			r.ContentLength = 60 << 20
			door.ServeHTTP(httptest.NewRecorder(), r)
		}()
	}
	for range 8 {
		<-done
	}
	require.LessOrEqual(t, most.Load(), int64(2))
}

type unread struct{ n atomic.Int64 }

func (u *unread) Read([]byte) (int, error) { u.n.Add(1); return 0, io.EOF }

// counted counts how many bodies are read at once.
type counted struct {
	io.Reader

	held, most *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	now := c.held.Add(1)
	defer c.held.Add(-1)
	<-time.After(10 * time.Millisecond)
	for was := c.most.Load(); now > was && !c.most.CompareAndSwap(was, now); was = c.most.Load() {
	}
	return c.Reader.Read(p)
}
