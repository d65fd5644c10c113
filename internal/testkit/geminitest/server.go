package geminitest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxBody bounds a request, as the API does.
const maxBody = 256 << 20

// methods are the methods of the server.
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
	// Frame has the URL of a server made by Start, for GOOGLE_GEMINI_BASE_URL.
	*Frame

	opt     Options
	player  *Player
	journal journal
	warmth  warmth
	mux     *http.ServeMux
}

// New makes a server without a listener.
func New(opt Options) *Server {
	s := &Server{
		Frame: NewFrame(), opt: opt, player: NewPlayer(opt.Script, opt.Handle), mux: http.NewServeMux(),
		journal: journal{issued: make(map[string][]string)}, warmth: warmth{seen: make(map[string][]warmed)},
	}
	s.mux.HandleFunc("POST /{version}/models/{call}", s.call)
	s.mux.HandleFunc("GET /__log", func(w http.ResponseWriter, _ *http.Request) { writeLines(w, s.Requests()) })
	s.mux.HandleFunc("GET /__violations", func(w http.ResponseWriter, _ *http.Request) { writeLines(w, s.Violations()) })
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.send(r.Context(), w, "", errorReply(404, "NOT_FOUND", "", nil))
	})
	return s
}

// Start serves on a loopback port for the length of a test. When the test ends it must have seen no violations, unless
// opt is lenient.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	s := New(opt)
	s.Listen(t, s, "Gemini", opt.Lenient)
	return s
}

// Requests is the log so far, in order of arrival.
func (s *Server) Requests() []Entry {
	return s.journal.all()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

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
		s.send(r.Context(), out, "", errorReply(400, "INVALID_ARGUMENT", "request body: "+err.Error(), nil))
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
		s.Violate(req, reason)
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
func (s *Server) send(ctx context.Context, w http.ResponseWriter, method string, reply Reply) {
	o := Outgoing{Status: reply.Status, Body: reply.Body, First: reply.First, Between: reply.Between, End: reply.End}
	switch {
	case reply.Status != 200:
	case method == "streamGenerateContent":
		for _, chunk := range reply.Chunks {
			o.Events = append(o.Events, frame(chunk, reply.Noise))
		}
		if reply.Noise && reply.End == EndClean {
			o.Events = append(o.Events, []byte("data: [DONE]\r\n\r\n"))
		}
	default:
		o.Body = merge(reply.Chunks)
	}
	s.Send(ctx, w, o)
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
