// Package anthropictest is a strict fake of Anthropic's Messages API on the wire. Its input are requests with one key, its
// output the answers that a test scripts, with their use. It thinks of nothing.
package anthropictest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Request is what a client asks. Unknown fields are passed over, as clients have many.
type Request struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	Stream    bool              `json:"stream"`
	Messages  []Message         `json:"messages"`
	Tools     []json.RawMessage `json:"tools"`
}

// Message is one of the conversation; Content is a text or a list of blocks.
type Message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// Answer is what the service says: a text, or one call of a tool. Tokens of the prompt are counted by its bytes.
type Answer struct {
	Text  string
	Tool  string
	Input any
	// Status is that of a refusal, with RetryAfter in seconds.
	Status, RetryAfter int
	// Hold has a stream stop after its first words, until the client leaves.
	Hold bool
}

// Server is the fake. It is safe for concurrent use.
type Server struct {
	*httptest.Server

	answer func(*Request) Answer

	mu sync.Mutex
	// key is that of calls. The endpoint of tokens gives rotating-N-access and rotating-N-refresh, which is good once, with N
	// from 1, and from then on the newest is the key.
	key     string
	rotated int
	calls   int
	spent   int
}

// New makes a server for requests with a key. The caller closes it.
func New(key string, answer func(*Request) Answer) *Server {
	s := &Server{key: key, answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Calls are the requests that were answered, and the tokens that they used.
func (s *Server) Calls() (calls, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls, s.spent
}

// refresh answers as the endpoint of tokens does.
func (s *Server) refresh(w http.ResponseWriter, r *http.Request) {
	var asked map[string]string
	err := json.NewDecoder(r.Body).Decode(&asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := fmt.Sprintf("rotating-%d-refresh", s.rotated)
	if err != nil || asked["grant_type"] != "refresh_token" || asked["refresh_token"] != newest {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return
	}
	s.rotated++
	s.key = fmt.Sprintf("rotating-%d-access", s.rotated)
	fmt.Fprintf(w, `{"access_token":%q,"refresh_token":"rotating-%d-refresh","expires_in":3600}`, s.key, s.rotated)
}

func (s *Server) keyIs(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return key == s.key
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/oauth/token" {
		s.refresh(w, r)
		return
	}
	var req Request
	err := json.NewDecoder(r.Body).Decode(&req)
	switch {
	case !s.keyIs(keyOf(r.Header)):
		refuse(w, http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
	case r.Method != http.MethodPost || r.URL.Path != "/v1/messages":
		refuse(w, http.StatusNotFound, "not_found_error", r.Method+" "+r.URL.Path)
	case r.Header.Get("Anthropic-Version") == "":
		refuse(w, http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required")
	case err != nil || req.Model == "" || req.MaxTokens < 1 || len(req.Messages) == 0:
		refuse(w, http.StatusBadRequest, "invalid_request_error",
			fmt.Sprintf("model, max_tokens and messages are required (%v)", err))
	default:
		s.reply(w, r, &req)
	}
}

// keyOf is the key of a call, or the token of a login, which needs its beta.
func keyOf(h http.Header) string {
	if strings.Contains(h.Get("Anthropic-Beta"), "oauth-2025-04-20") {
		return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	}
	return h.Get("X-Api-Key")
}

func refuse(w http.ResponseWriter, status int, kind, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q}}`, kind, why)
}

func (s *Server) reply(w http.ResponseWriter, r *http.Request, req *Request) {
	a := s.answer(req)
	if a.Status != 0 {
		if a.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(a.RetryAfter))
		}
		refuse(w, a.Status, "rate_limit_error", "scripted")
		return
	}
	in, out := 0, 1+len(a.Text)/4
	for _, m := range req.Messages {
		in += 1 + len(m.Content)/4
	}
	s.mu.Lock()
	s.calls++
	s.spent += in + out
	id := fmt.Sprintf("msg_%06d", s.calls)
	s.mu.Unlock()
	usage := map[string]int{
		"input_tokens": in, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": out,
	}
	block, stop := map[string]any{"type": "text", "text": a.Text}, "end_turn"
	if a.Tool != "" {
		block, stop = map[string]any{"type": "tool_use", "id": "toolu_" + id, "name": a.Tool, "input": a.Input}, "tool_use"
	}
	message := map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": req.Model, "content": []any{block}, "stop_reason": stop,
		"stop_sequence": nil, "usage": usage,
	}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(message); err != nil {
			panic(err)
		}
		return
	}
	stream(w, message, block, stop, in, out, func() {
		if a.Hold {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
	})
}

// stream sends a message as the events of the API.
func stream(w http.ResponseWriter, message, block map[string]any, stop string, in, out int, half func()) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, data map[string]any) {
		data["type"] = kind
		text, err := json.Marshal(data)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
		_ = http.NewResponseController(w).Flush()
	}
	message["content"], message["stop_reason"] = []any{}, nil
	message["usage"] = map[string]int{"input_tokens": in, "output_tokens": 1}
	send("message_start", map[string]any{"message": message})
	empty, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": block["text"]}
	if block["type"] == "tool_use" {
		input, err := json.Marshal(block["input"])
		if err != nil {
			panic(err)
		}
		empty = map[string]any{"type": "tool_use", "id": block["id"], "name": block["name"], "input": map[string]any{}}
		delta = map[string]any{"type": "input_json_delta", "partial_json": strings.TrimSpace(string(input))}
	}
	send("content_block_start", map[string]any{"index": 0, "content_block": empty})
	send("content_block_delta", map[string]any{"index": 0, "delta": delta})
	half()
	send("content_block_stop", map[string]any{"index": 0})
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]int{"output_tokens": out},
	})
	send("message_stop", map[string]any{})
}
