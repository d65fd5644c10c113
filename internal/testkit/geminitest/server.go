package geminitest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxBody bounds a request, as the API does.
const maxBody = 256 << 20

// methods are what the server can do.
var methods = []string{"streamGenerateContent", "generateContent", "countTokens"}

// Options configure a server.
type Options struct {
	// Script or Handle answers; Handle wins. Handle may be called from several goroutines at once.
	Script *Script
	Handle func(Request) Answer
	// Delay is the time to the first token of answers that name none.
	Delay time.Duration
	// Keys, when there are any, are the only API keys that are taken.
	Keys []string
	// MinCache is the smallest prefix, in tokens, that implicit caching finds.
	MinCache int
	// Implicit simulates implicit caching in the usage of answers that name none of their own: what a request has in common
	// with an earlier one whose answer has begun is cached. Such usage does depend on the order of arrival.
	Implicit bool
	// KeepBodies keeps every request's body in the log.
	KeepBodies bool
	// Lenient keeps Start from failing the test on violations.
	Lenient bool
}

// Server is the API. It is an http.Handler and safe for concurrent use.
type Server struct {
	// URL is where a server made by Start listens, for GOOGLE_GEMINI_BASE_URL.
	URL string

	opt     Options
	player  *Player
	journal journal
	warmth  warmth
	mux     *http.ServeMux
	closing chan struct{}
	close   func()
}

// New makes a server without a listener.
func New(opt Options) *Server {
	s := &Server{
		opt: opt, player: NewPlayer(opt.Script, opt.Handle), mux: http.NewServeMux(), closing: make(chan struct{}),
		journal: journal{issued: make(map[string][]string)}, warmth: warmth{seen: make(map[string][]warmed)},
	}
	s.close = sync.OnceFunc(func() { close(s.closing) })
	s.mux.HandleFunc("POST /{version}/models/{call}", s.call)
	s.mux.HandleFunc("GET /__log", func(w http.ResponseWriter, _ *http.Request) { s.lines(w, writeLines, nil) })
	s.mux.HandleFunc("GET /__violations", func(w http.ResponseWriter, _ *http.Request) { s.lines(w, nil, writeLines) })
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { write(w, errorReply(404, "NOT_FOUND", "", nil)) })
	return s
}

// Start serves on a loopback port for the length of a test. When the test ends it must have seen no violations, unless
// opt is lenient.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	s := New(opt)
	h := httptest.NewServer(s)
	s.URL = h.URL
	t.Cleanup(func() {
		s.Close()
		h.CloseClientConnections()
		h.Close()
		if v := s.Violations(); len(v) > 0 && !opt.Lenient {
			t.Errorf("the fake Gemini server saw violations: %+v", v)
		}
	})
	return s
}

// Close ends the answers that hang or wait.
func (s *Server) Close() { s.close() }

// Requests is the log so far, in order of arrival.
func (s *Server) Requests() []Entry {
	entries, _ := s.journal.all()
	return entries
}

// Violations are the breaches so far.
func (s *Server) Violations() []Violation {
	_, violations := s.journal.all()
	return violations
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) lines(
	w http.ResponseWriter, log func(io.Writer, []Entry) error, bad func(io.Writer, []Violation) error,
) {
	w.Header().Set("Content-Type", "application/jsonl")
	entries, violations := s.journal.all()
	var err error
	if log != nil {
		err = log(w, entries)
	} else {
		err = bad(w, violations)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the reader is gone
	}
}

// call answers models/{model}:{method}.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	i := s.journal.begin(time.Now().UnixNano())
	out := &counting{ResponseWriter: w}
	defer func() {
		s.journal.update(i, func(e *Entry) {
			e.End, e.Status, e.First, e.BytesOut = time.Now().UnixNano(), out.status, out.first, out.n
		})
	}()
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		write(out, errorReply(400, "INVALID_ARGUMENT", "request body: "+err.Error(), nil))
		return
	}
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	if method == "streamGenerateContent" && r.URL.Query().Get("alt") != "sse" {
		method = "streamGenerateContent without alt=sse"
	}
	s.send(r.Context(), out, method, s.ask(i, r.Header, model, method, raw))
}

// Ask answers one request without HTTP, checked and logged like any other: for a model in memory. The caller keeps to
// the reply's delays. h carries the key and, where there are any, the X-Divisi headers.
func (s *Server) Ask(h http.Header, model, method string, raw []byte) Reply {
	i := s.journal.begin(time.Now().UnixNano())
	reply := s.ask(i, h, model, method, raw)
	s.journal.update(i, func(e *Entry) { e.End, e.Status = time.Now().UnixNano(), reply.Status })
	return reply
}

func (s *Server) ask(i int, h http.Header, model, method string, raw []byte) Reply {
	s.journal.update(i, func(e *Entry) { e.Model, e.Method, e.BytesIn = model, method, len(raw) })
	req, reply, reason := s.judge(h, model, method, raw)
	s.journal.update(i, func(e *Entry) { e.describe(req, reply, reason, s.opt.KeepBodies) })
	if reason != "" {
		s.journal.violate(Violation{Task: req.Task, Attempt: req.Attempt, Turn: req.Turn, Reason: reason})
	}
	return reply
}

func (e *Entry) describe(req *Request, reply Reply, reason string, keep bool) {
	e.Run, e.Task, e.Role, e.Purpose = req.Run, req.Task, req.Role, req.Purpose
	e.Attempt, e.Turn, e.Try, e.Fault, e.Reason = req.Attempt, req.Turn, req.Try, reply.Fault, reason
	e.Cached = req.Cached
	if keep {
		e.Body = req.Body
	}
}

// judge checks a request and finds its reply; reason is the violation, if any.
func (s *Server) judge(h http.Header, model, method string, raw []byte) (*Request, Reply, string) {
	violation := func(req *Request, reason string) (*Request, Reply, string) {
		return req, errorReply(400, "INVALID_ARGUMENT", reason, nil), reason
	}
	b, err := parseBody(raw)
	if err != nil {
		return violation(&Request{Body: raw}, err.Error())
	}
	req := newRequest(b, h, model, method, raw)
	key := h.Get("X-Goog-Api-Key")
	if key == "" {
		reason := "Method doesn't allow unregistered callers: the x-goog-api-key header is missing."
		return req, errorReply(403, "PERMISSION_DENIED", reason, nil), reason
	}
	if len(s.opt.Keys) > 0 && !slices.Contains(s.opt.Keys, key) {
		return req, refuse(Answer{Fault: "wrong_key"}), ""
	}
	if !slices.Contains(methods, method) {
		return violation(req, "unknown method "+method)
	}
	if err := check(b, raw, s.journal.signatures); err != nil {
		return violation(req, err.Error())
	}
	if method == "countTokens" {
		return req, Reply{Status: 200, Chunks: [][]byte{mustJSON(object{"totalTokens": len(raw)/bytesPerToken + 1})}}, ""
	}
	reply, err := s.play(b, req)
	if err != nil {
		return violation(req, err.Error())
	}
	s.journal.issue(reply.signed)
	return req, reply, ""
}

// play finds the reply. What of the request was in a cache is in its usage.
func (s *Server) play(b *body, req *Request) (Reply, error) {
	text := ""
	if s.opt.Implicit {
		text = canonicalPrefix(b.SystemInstruction, b.Tools, b.Contents)
		if found := s.warmth.find(req.Model, text) / bytesPerToken; found >= s.opt.MinCache {
			req.Cached = found
		}
	}
	reply, err := s.player.Play(req)
	if err != nil {
		return reply, err
	}
	if reply.First == 0 {
		reply.First = s.opt.Delay
	}
	if s.opt.Implicit && reply.Status == http.StatusOK {
		s.warmth.add(req.Model, text, time.Now().Add(reply.First))
	}
	return reply, nil
}

// send writes a reply: as a stream, as one document, or as a refusal.
func (s *Server) send(ctx context.Context, w *counting, method string, reply Reply) {
	if !s.wait(ctx, reply.First) {
		return
	}
	switch {
	case reply.Status != 200:
		write(w, reply)
	case method == "streamGenerateContent":
		s.stream(ctx, w, reply)
	default:
		write(w, Reply{Status: 200, Body: merge(reply.Chunks)})
	}
}

func (s *Server) stream(ctx context.Context, w *counting, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for i, chunk := range reply.Chunks {
		if i > 0 && !s.wait(ctx, reply.Between) {
			return
		}
		if _, err := w.Write(frame(chunk, reply.Noise)); err != nil {
			return // the client is gone; the log shows how much it got
		}
		w.Flush()
	}
	switch reply.End {
	case EndCut:
		panic(http.ErrAbortHandler)
	case EndHang:
		s.wait(ctx, time.Duration(1<<62))
	case EndClean:
		if reply.Noise {
			if _, err := io.WriteString(w, "data: [DONE]\r\n\r\n"); err != nil {
				return
			}
		}
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

// frame writes one event: as Google does, or with all that gateways add.
func frame(chunk []byte, noise bool) []byte {
	if !noise {
		return fmt.Appendf(nil, "data: %s\r\n\r\n", chunk)
	}
	return fmt.Appendf(nil, ": ping\n\nevent: message\nid: 7\ndata: %s\r\ndata: %s\n\n", chunk[:1], chunk[1:])
}

// counting counts what goes out and when it began.
type counting struct {
	http.ResponseWriter
	status, n int
	first     int64
}

// WriteHeader implements http.ResponseWriter.
func (c *counting) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *counting) Write(p []byte) (int, error) {
	if c.first == 0 {
		c.first = time.Now().UnixNano()
	}
	n, err := c.ResponseWriter.Write(p)
	c.n += n
	return n, err
}

// Flush sends what is buffered.
func (c *counting) Flush() {
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

func write(w http.ResponseWriter, reply Reply) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(reply.Status)
	if _, err := w.Write(reply.Body); err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
}
