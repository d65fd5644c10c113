// Package chattest is a strict service of Chat Completions. Its input are the scripts of geminitest and requests, its output
// are their answers, so that whole runs can use either service. It never accepts a breach of the API's rules: it refuses and
// records each.
package chattest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"divisi/internal/testkit/geminitest"
)

// Path is where the API lies under a server's address.
const Path = "/v1"

// Style is how a service writes what the API leaves open.
type Style int

// The styles.
const (
	// OpenAI sends a call's name first and its arguments in pieces.
	OpenAI Style = iota
	// Ollama sends whole calls, all with index 0, and thoughts as "reasoning".
	Ollama
	// Gateway sends comments and other fields, calls without indexes, and whole objects as arguments.
	Gateway
)

// Options configure a server.
type Options struct {
	// Script answers; its continuations are no part of this API.
	Script *geminitest.Script
	Style  Style
	// Keys, when there are any, are the only keys that are taken; without any no key is wanted.
	Keys []string
	// Lenient keeps Start from failing the test on violations.
	Lenient bool
}

// Server is the API. It is an http.Handler and safe for concurrent use.
type Server struct {
	// URL is the base URL of a server made by Start.
	URL string

	opt     Options
	player  *geminitest.Player
	closing chan struct{}
	close   func()

	mu         sync.Mutex
	requests   []geminitest.Request
	violations []geminitest.Violation
}

// New makes a server without a listener.
func New(opt Options) *Server {
	s := &Server{opt: opt, player: geminitest.NewPlayer(opt.Script, nil), closing: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.closing) })
	return s
}

// Start serves on a loopback port for the length of a test. When the test ends it must have seen no violations, unless opt is
// lenient.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	s := New(opt)
	h := httptest.NewServer(s)
	s.URL = h.URL + Path
	t.Cleanup(func() {
		s.Close()
		h.CloseClientConnections()
		h.Close()
		if v := s.Violations(); len(v) > 0 && !opt.Lenient {
			t.Errorf("the fake chat server saw violations: %+v", v)
		}
	})
	return s
}

// Close ends the answers that hang or wait.
func (s *Server) Close() { s.close() }

// Requests are those that were understood, in order of arrival.
func (s *Server) Requests() []geminitest.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Violations are the breaches so far.
func (s *Server) Violations() []geminitest.Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != Path+"/chat/completions" {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	s.send(r.Context(), w, s.answer(r, raw))
}

// answer checks a request and finds its answer.
func (s *Server) answer(r *http.Request, raw []byte) answer {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if len(s.opt.Keys) > 0 && !slices.Contains(s.opt.Keys, key) {
		return refusals["wrong_key"]
	}
	b, err := parseBody(raw)
	if err != nil {
		return s.violation(geminitest.Request{Body: raw}, err)
	}
	req := b.request(r.Header, raw)
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		return s.violation(req, fmt.Errorf("%s of %q: want POST of application/json", r.Method, r.Header.Get("Content-Type")))
	}
	if err := b.check(); err != nil {
		return s.violation(req, err)
	}
	reply, err := s.player.Play(&req)
	if err != nil {
		return s.violation(req, err)
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	a, err := translate(reply, s.opt.Style, b.StreamOptions != nil && b.StreamOptions.IncludeUsage)
	if err != nil {
		return s.violation(req, err)
	}
	return a
}

func (s *Server) violation(req geminitest.Request, err error) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, geminitest.Violation{
		Task: req.Task, Attempt: req.Attempt, Turn: req.Turn, Reason: err.Error(),
	})
	return refusal(http.StatusBadRequest, "invalid_request_error", "", err.Error())
}

// answer is what goes out: a refusal, or the events of a stream.
type answer struct {
	status         int
	header         map[string]string
	body           []byte
	events         [][]byte
	end            geminitest.End
	first, between time.Duration
}

func (s *Server) send(ctx context.Context, w http.ResponseWriter, a answer) {
	if !s.wait(ctx, a.first) {
		return
	}
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	if a.status != http.StatusOK {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		write(w, a.body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for i, event := range a.events {
		if i > 0 && !s.wait(ctx, a.between) {
			return
		}
		write(w, event)
	}
	switch a.end {
	case geminitest.EndCut:
		panic(http.ErrAbortHandler)
	case geminitest.EndHang:
		s.wait(ctx, time.Duration(1<<62))
	case geminitest.EndClean:
	}
}

// wait returns false when the client or the server is gone first.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

func write(w http.ResponseWriter, data []byte) {
	if _, err := w.Write(data); err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// request is what the script sees of a body.
func (b *body) request(h http.Header, raw json.RawMessage) geminitest.Request {
	system, contents := b.contents()
	r := geminitest.Request{
		Model: b.Model, Method: "chat", System: system, Contents: contents, Body: raw,
		Run: h.Get("X-Divisi-Run"), Task: h.Get("X-Divisi-Task"), Purpose: h.Get("X-Divisi-Purpose"),
		Attempt: number(h.Get("X-Divisi-Attempt")), Turn: number(h.Get("X-Divisi-Turn")),
	}
	r.Fill()
	return r
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0 // absent
	}
	return n
}
