// Package chattest serves Chat Completions strictly. Its input are the scripts of geminitest and requests, its output are their
// answers, so that whole runs can use either service. It never accepts a breach of the API's rules: it refuses and records each.
package chattest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

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
	// Frame has the base URL of a server made by Start.
	*geminitest.Frame

	opt    Options
	player *geminitest.Player

	mu       sync.Mutex
	requests []geminitest.Request
}

// New makes a server without a listener.
func New(opt Options) *Server {
	return &Server{Frame: geminitest.NewFrame(), opt: opt, player: geminitest.NewPlayer(opt.Script, nil)}
}

// Start serves on a loopback port for the length of a test. When the test ends it must have seen no violations, unless opt is
// lenient.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	s := New(opt)
	s.Listen(t, s, "chat", opt.Lenient)
	s.URL += Path
	return s
}

// Requests are those that were understood, in order of arrival.
func (s *Server) Requests() []geminitest.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
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
	s.Send(r.Context(), w, s.answer(r, raw))
}

// answer checks a request and finds its answer.
func (s *Server) answer(r *http.Request, raw []byte) geminitest.Outgoing {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if len(s.opt.Keys) > 0 && !slices.Contains(s.opt.Keys, key) {
		return refusals["wrong_key"]
	}
	b, err := parseBody(raw)
	if err != nil {
		return s.violation(&geminitest.Request{Body: raw}, err)
	}
	req := b.request(r.Header, raw)
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		return s.violation(&req, fmt.Errorf("%s of %q: want POST of application/json", r.Method, r.Header.Get("Content-Type")))
	}
	if err := b.check(); err != nil {
		return s.violation(&req, err)
	}
	reply, err := s.player.Play(&req)
	if err != nil {
		return s.violation(&req, err)
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	a, err := translate(reply, s.opt.Style, b.StreamOptions != nil && b.StreamOptions.IncludeUsage)
	if err != nil {
		return s.violation(&req, err)
	}
	return a
}

func (s *Server) violation(req *geminitest.Request, err error) geminitest.Outgoing {
	s.Violate(req, err.Error())
	return refusal(http.StatusBadRequest, "invalid_request_error", "", err.Error())
}

// request is a body as the script sees it.
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
