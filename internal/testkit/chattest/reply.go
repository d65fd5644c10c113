package chattest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/testkit/geminitest"
)

// pieceSize is the number of letters in a piece of arguments.
const pieceSize = 5

type object = map[string]any

// refusals are the script's faults that take the place of an answer, in the words of services.
var refusals = map[string]geminitest.Outgoing{
	"404":       refusal(404, "invalid_request_error", "model_not_found", "The model `unknown` does not exist"),
	"429":       refusal(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests per min (RPM)"),
	"500":       refusal(500, "server_error", "", "The server had an error while processing your request"),
	"503":       refusal(503, "server_error", "", "The engine is currently overloaded, please try again later"),
	"wrong_key": refusal(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: wro**key"),
	"quota_day": refusal(429, "insufficient_quota", "insufficient_quota",
		"You exceeded your current quota, please check your plan and billing details."),
	"too_long": refusal(400, "invalid_request_error", "context_length_exceeded",
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 20000 tokens."),
	"prompt_blocked": refusal(400, "invalid_request_error", "content_filter",
		"The response was filtered due to the prompt triggering our content management policy."),
	"bad_signature": refusal(400, "invalid_request_error", "", "Invalid value for messages"),
}

func refusal(status int, kind, code, message string) geminitest.Outgoing {
	e := object{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		e["code"] = code
	}
	return geminitest.Outgoing{Status: status, Body: mustJSON(object{"error": e})}
}

// translate turns a reply of Gemini's into one of this API.
func translate(r geminitest.Reply, style Style, usage bool) (geminitest.Outgoing, error) {
	if a, ok := refusals[r.Fault]; ok {
		a.First = r.First
		if a.Status == http.StatusTooManyRequests && r.Fault == "429" {
			a.Header = map[string]string{"Retry-After": retryAfter(r.Body)}
		}
		return a, nil
	}
	t := &translator{style: style, usage: usage, a: geminitest.Outgoing{
		Status: r.Status, End: r.End, First: r.First, Between: r.Between,
	}}
	if r.Fault == "continuation" || r.Status != http.StatusOK {
		return geminitest.Outgoing{}, fmt.Errorf("chat completions have no fault %q", r.Fault)
	}
	if r.Fault == "malformed_json" {
		r.Chunks = r.Chunks[:len(r.Chunks)-1]
	}
	for _, raw := range r.Chunks {
		if err := t.chunk(raw, r.Fault); err != nil {
			return geminitest.Outgoing{}, err
		}
	}
	if r.Fault == "malformed_json" {
		t.event([]byte(`{"choices":[{"delta":{"content":"`))
	}
	if t.finished {
		t.event([]byte("[DONE]"))
	}
	return t.a, nil
}

// retryAfter is the delay of a refusal of Gemini's, in seconds.
func retryAfter(body []byte) string {
	var b struct {
		Error struct {
			Details []struct {
				RetryDelay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &b); err == nil {
		for _, d := range b.Error.Details {
			if d.RetryDelay != "" {
				return strings.TrimSuffix(d.RetryDelay, "s")
			}
		}
	}
	return "1"
}

// translator writes one stream.
type translator struct {
	style    Style
	usage    bool
	a        geminitest.Outgoing
	calls    int
	finished bool
}

func (t *translator) chunk(raw []byte, fault string) error {
	if fault == "error" && strings.HasPrefix(string(raw), `{"error"`) {
		t.event(mustJSON(object{"error": object{"message": "Provider returned error", "code": 503}}))
		return nil
	}
	var c genai.GenerateContentResponse
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("a chunk of the script: %w", err)
	}
	id := object{"id": c.ResponseID, "object": "chat.completion.chunk", "created": 1, "model": c.ModelVersion}
	for _, candidate := range c.Candidates {
		if candidate.Content != nil {
			for _, p := range candidate.Content.Parts {
				t.part(id, p)
			}
		}
		if fault == "malformed_function_call" {
			bad := object{"name": "read", "arguments": `{"path": print(`}
			t.delta(id, object{"tool_calls": []any{object{"index": 0, "id": "bad", "type": "function", "function": bad}}}, nil)
		}
		if candidate.FinishReason != "" {
			t.finish(id, candidate.FinishReason)
		}
	}
	if u := c.UsageMetadata; u != nil && t.finished && t.usage {
		t.event(mustJSON(with(id, object{"choices": []any{}, "usage": object{
			"prompt_tokens": u.PromptTokenCount, "completion_tokens": u.CandidatesTokenCount + u.ThoughtsTokenCount,
			"total_tokens":              u.TotalTokenCount,
			"prompt_tokens_details":     object{"cached_tokens": u.CachedContentTokenCount},
			"completion_tokens_details": object{"reasoning_tokens": u.ThoughtsTokenCount},
		}})))
	}
	return nil
}

// part writes what a part holds; signatures are no part of this API.
func (t *translator) part(id object, p *genai.Part) {
	thoughts := "reasoning_content"
	if t.style == Ollama {
		thoughts = "reasoning"
	}
	switch {
	case p.FunctionCall != nil:
		t.call(id, p.FunctionCall)
	case p.Text != "" && p.Thought:
		t.delta(id, object{"role": "assistant", thoughts: p.Text, "content": nil}, nil)
	case p.Text != "":
		t.delta(id, object{"role": "assistant", "content": p.Text}, nil)
	}
}

func (t *translator) call(id object, f *genai.FunctionCall) {
	args := mustJSON(f.Args)
	name := object{"name": f.Name, "arguments": string(args)}
	c := object{"type": "function", "function": name}
	if f.ID != "" {
		c["id"] = f.ID
	}
	switch t.style {
	case OpenAI:
		c["index"], name["arguments"] = t.calls, ""
	case Ollama:
		c["index"] = 0
	case Gateway:
		name["arguments"] = f.Args
	}
	t.delta(id, object{"tool_calls": []any{c}}, nil)
	if t.style == OpenAI {
		for piece := range slices.Chunk([]rune(string(args)), pieceSize) {
			function := object{"arguments": string(piece)}
			t.delta(id, object{"tool_calls": []any{object{"index": t.calls, "function": function}}}, nil)
		}
	}
	t.calls++
}

func (t *translator) finish(id object, reason genai.FinishReason) {
	word := strings.ToLower(string(reason))
	switch reason {
	case genai.FinishReasonStop, genai.FinishReasonMalformedFunctionCall:
		word = "stop"
		if t.calls > 0 || reason != genai.FinishReasonStop {
			word = "tool_calls"
		}
	case genai.FinishReasonMaxTokens:
		word = "length"
	case genai.FinishReasonSafety:
		word = "content_filter"
	case genai.FinishReasonOther:
		word = "error"
	}
	t.finished = true
	t.delta(id, object{}, word)
}

func (t *translator) delta(id, delta object, finish any) {
	t.event(mustJSON(with(id, object{"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})))
}

// event frames one event: as OpenAI does, or with all that gateways add.
func (t *translator) event(data []byte) {
	frame := fmt.Appendf(nil, "data: %s\n\n", data)
	if t.style == Gateway {
		frame = fmt.Appendf(nil, ": PROCESSING\r\n\r\nevent: message\r\nid: 7\r\ndata:%s\r\n\r\n", data)
	}
	t.a.Events = append(t.a.Events, frame)
}

func with(id, more object) object {
	all := object{}
	for _, o := range []object{id, more} {
		for k, v := range o {
			all[k] = v
		}
	}
	return all
}

// mustJSON writes what this package has built itself, or a script has decoded from YAML: it always can be written.
func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("chattest: %v", err))
	}
	return raw
}
