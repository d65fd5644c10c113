package geminitest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// A dependency of the SDK, whose types are used here, starts a worker when it is loaded and never stops it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

const hello = `{"contents":[{"role":"user","parts":[{"text":"Task: t1\nhello"}]}]}`

// post sends a body and returns status and text.
func post(t *testing.T, url, body string, change ...func(*http.Request)) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Goog-Api-Key", "fake")
	for _, c := range change {
		c(req)
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	text, readErr := io.ReadAll(resp.Body)
	require.NoError(t, resp.Body.Close())
	if readErr != nil {
		text = append(text, "|"+readErr.Error()...)
	}
	return resp.StatusCode, string(text)
}

const streamPath = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"

func lenient(t *testing.T, script string) *Server {
	t.Helper()
	return Start(t, Options{Script: parse(t, script), Lenient: true})
}

func TestStreamOnTheWire(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Script: parse(t, `rules: [{task: t1, steps: [{thought: hm, text: abcd, chunk: 2}]}]`)})
	status, text := post(t, s.URL+streamPath, hello)
	require.Equal(t, 200, status)
	events := strings.Split(strings.TrimSuffix(text, "\r\n\r\n"), "\r\n\r\n")
	require.Len(t, events, 4)
	for _, e := range events {
		require.True(t, json.Valid([]byte(strings.TrimPrefix(e, "data: "))), e)
	}
	require.Contains(t, events[0], `"thought":true`)
	require.NotContains(t, events[2], "finishReason")
	require.Contains(t, events[3], `"finishReason":"STOP"`)
	require.Contains(t, events[3], `"thoughtSignature"`)
}

func TestAnswersAreTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	script := `rules: [{steps: [{calls: [{name: f, args: {a: 1}}, {name: g}]}]}]`
	_, one := post(t, Start(t, Options{Script: parse(t, script)}).URL+streamPath, hello)
	_, two := post(t, Start(t, Options{Script: parse(t, script)}).URL+streamPath, hello)
	require.Equal(t, one, two)
	require.Equal(t, 1, strings.Count(one, "thoughtSignature"), "the first of parallel calls only")
}

func TestUnaryAndCountTokens(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Script: parse(t, `rules: [{steps: [{text: abcd, chunk: 2}]}]`)})
	_, text := post(t, s.URL+"/v1beta/models/m:generateContent", hello)
	require.Contains(t, text, `"parts":[{"text":"ab"},{"text":"cd"}`)
	require.Contains(t, text, `"finishReason":"STOP"`)
	_, text = post(t, s.URL+"/v1beta/models/m:countTokens", hello)
	require.Contains(t, text, `"totalTokens":`)
}

func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"429": `"retryDelay":"1s"`, "quota_day": "PerDay", "wrong_key": "API_KEY_INVALID", "too_long": "token count",
		"bad_signature": "signature", "404": "NOT_FOUND", "500": "INTERNAL", "503": "overloaded",
		"cut": "unexpected EOF", "malformed_json": `"text": "`, "error": `"error":`, "empty": "",
		"clean_cut": "partial", "empty_candidate": `"STOP"`, "safety": `"SAFETY"`, "prompt_blocked": "blockReason",
		"max_tokens": "MAX_TOKENS", "malformed_function_call": "MALFORMED_FUNCTION_CALL", "other": "OTHER",
		"continuation": "continuationToken",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{Script: parse(t, `rules: [{steps: [{fault: "`+fault+`"}]}]`)})
			status, text := post(t, s.URL+streamPath, hello)
			require.Contains(t, text, want)
			if _, refusal := refusals[fault]; refusal {
				require.Equal(t, refusals[fault].status, status)
			} else {
				require.Equal(t, 200, status)
			}
			require.Equal(t, fault, s.Requests()[0].Fault)
		})
	}
}

func TestHangEndsWithTheClientOrTheServer(t *testing.T) {
	t.Parallel()
	s := New(Options{Script: parse(t, `rules: [{task: "*", steps: [{fault: hang, text: abcd}]}]`)})
	h := httptest.NewServer(s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func(ctx context.Context) *http.Response {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+streamPath, strings.NewReader(hello))
		require.NoError(t, err)
		req.Header.Set("X-Goog-Api-Key", "fake")
		resp, err := h.Client().Do(req)
		require.NoError(t, err)
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "ab")
		return resp
	}
	first, second := open(ctx), open(t.Context())
	cancel()
	require.NoError(t, first.Body.Close())
	s.Close()
	_, err := io.ReadAll(second.Body)
	require.NoError(t, err)
	require.NoError(t, second.Body.Close())
	h.Close()
	require.Len(t, s.Requests(), 2)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Script: parse(t, `rules: [{steps: [{text: a}]}]`), Keys: []string{"good"}, Lenient: true})
	status, text := post(t, s.URL+streamPath, hello)
	require.Equal(t, 400, status)
	require.Contains(t, text, "API_KEY_INVALID")
	require.Empty(t, s.Violations(), "a wrong key is not a breach of the protocol")
	status, _ = post(t, s.URL+streamPath, hello, func(r *http.Request) { r.Header.Del("X-Goog-Api-Key") })
	require.Equal(t, 403, status)
	require.Len(t, s.Violations(), 1)
}

func TestLog(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Script: parse(t, `rules: [{steps: [{text: a, delay: 30ms}]}]`), KeepBodies: true, Lenient: true})
	post(t, s.URL+streamPath, hello, func(r *http.Request) { r.Header.Set("X-Divisi-Run", "r9") })
	post(t, s.URL+streamPath, `{"contentz":[]}`)
	resp, err := http.DefaultClient.Do(must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/__log", nil)))
	require.NoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	require.Len(t, lines, 2)
	var e Entry
	require.NoError(t, json.Unmarshal(lines[0], &e))
	require.Equal(t, []any{1, "r9", "t1", 1, 200, len(hello)}, []any{e.N, e.Run, e.Task, e.Turn, e.Status, e.BytesIn})
	require.GreaterOrEqual(t, time.Duration(e.First-e.Start), 30*time.Millisecond)
	require.GreaterOrEqual(t, e.End, e.First)
	require.Positive(t, e.BytesOut)
	require.JSONEq(t, hello, string(s.Requests()[0].Body))
	require.Contains(t, string(lines[1]), `unknown field \"contentz\"`)
	require.Len(t, s.Violations(), 1)
}

func must(r *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return r
}

func TestHandlerAnswers(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Handle: func(r Request) Answer { return Answer{Text: "to " + r.Task + ": {{turn}}"} }})
	_, text := post(t, s.URL+streamPath, hello)
	require.Contains(t, text, "to t1: 1")
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := lenient(t, `rules: [{steps: [{text: a}]}]`)
	status, _ := post(t, s.URL+"/v1/nothing", hello)
	require.Equal(t, 404, status)
	status, text := post(t, s.URL+"/v1beta/models/m:streamGenerateContent", hello)
	require.Equal(t, 400, status)
	require.Contains(t, text, "alt=sse")
}
