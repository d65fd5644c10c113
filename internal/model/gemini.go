package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"divisi/internal/spec"
)

// Options configure a Gemini client. The zero value takes everything from the environment.
type Options struct {
	// APIKey wins over the environment.
	APIKey string `json:"-"`
	// BaseURL wins over GOOGLE_GEMINI_BASE_URL (GOOGLE_VERTEX_BASE_URL on Vertex).
	BaseURL string
	// HTTPClient lends its transport, cookie jar and redirect policy; nil means connections of the client's own.
	HTTPClient *http.Client
	// Patience is how long a model, by name, may be silent before the first byte of an answer and between bytes; 0, or nil,
	// leaves it to what is known of it: a minute each, and five minutes before the first byte for models that think for long.
	Patience func(model string) (first, silence time.Duration)
	// Encoders bounds how many requests are written as JSON at once; default the number of CPUs. A history of 4 MB costs
	// tens of megabytes and 100 ms of CPU.
	Encoders int
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string `json:"-"`

	silence time.Duration
}

// String leaves the key out.
func (o Options) String() string { return fmt.Sprintf("model.Options{BaseURL:%q}", o.BaseURL) }

// GoString leaves the key out.
func (o Options) GoString() string { return o.String() }

// Gemini is the Gemini API, or Vertex AI, through the official SDK. It sends each request once; retries are New's.
type Gemini struct {
	client *genai.Client
	base   *http.Transport // nil when the transport is the caller's
	key    string
	where  string
	from   string // the variable with the address; empty for the usual one
	slots  chan struct{}
	// account is the owner of the quotas.
	account string
}

// NewGemini makes a client. It fails with an *Error of class Auth when there is no usable key.
func NewGemini(ctx context.Context, opt Options) (*Gemini, error) {
	t, fault := resolve(opt)
	if fault != nil {
		return nil, fault
	}
	g := &Gemini{key: t.key, where: t.baseURL, from: t.from, slots: make(chan struct{}, cmp.Or(opt.Encoders,
		runtime.GOMAXPROCS(0))), account: t.account()}
	client, base := newHTTPClient(opt, t.custom)
	g.base = base
	cc := &genai.ClientConfig{
		Backend: t.backend(), APIKey: t.key, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: t.baseURL},
	}
	if t.adc {
		if err := cc.UseDefaultCredentials(); err != nil {
			return nil, &Error{Class: Auth, Message: "no Google Cloud credentials: run gcloud auth application-default login, " +
				"or set GOOGLE_APPLICATION_CREDENTIALS, or unset GOOGLE_GENAI_USE_VERTEXAI"}
		}
	}
	var err error
	if g.client, err = genai.NewClient(ctx, cc); err != nil {
		// The SDK's error prints its configuration, key and all: it goes no further.
		return nil, &Error{Class: Auth, Message: "the Gemini client could not be set up: check GOOGLE_CLOUD_PROJECT, " +
			"GOOGLE_CLOUD_LOCATION and the API key"}
	}
	return g, nil
}

// Close closes idle connections. Calls under way are not touched.
func (g *Gemini) Close() {
	if g.base != nil {
		g.base.CloseIdleConnections()
	}
}

// String says where the client sends; never the key.
func (g *Gemini) String() string { return fmt.Sprintf("gemini at %s", cmp.Or(g.where, "Vertex AI")) }

// GoString says where the client sends; never the key.
func (g *Gemini) GoString() string { return g.String() }

// Generate implements Model.
func (g *Gemini) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &send{g: g, req: req, yield: yield}
		res, err := s.run(ctx)
		switch {
		case s.stopped:
		case err != nil:
			yield(Event{}, g.explain(err))
		default:
			yield(Event{Result: res}, nil)
		}
	}
}

// explain names the variable with the address, where the address may be what is wrong, and hides the key.
func (g *Gemini) explain(e *Error) *Error {
	absent := e.Status == http.StatusNotFound && e.Class == Invalid && !strings.Contains(e.Message, "models/")
	if g.from != "" && (absent || e.Class == Unavailable && e.Status == 0) {
		e.Message = fmt.Sprintf("no Gemini API answers at the address in %s: %s", g.from, e.Message)
	}
	return e.Hide(g.key)
}

// send is one request under way. It lives on the goroutine that ranges.
type send struct {
	g        *Gemini
	req      *Request
	yield    func(Event, error) bool
	answer   Answer
	stopped  bool // the consumer broke off
	yielding bool // the consumer's code is running
}

func (s *send) run(ctx context.Context) (*Result, *Error) {
	if err := Validate(s.req); err != nil {
		return nil, err
	}
	select {
	case s.g.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, cancelled(ctx.Err())
	}
	sendCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &call{req: s.req, stop: stop, encoded: sync.OnceFunc(func() { <-s.g.slots })}
	defer c.encoded()
	err := s.stream(context.WithValue(sendCtx, callKey{}, c))
	if s.stopped {
		return nil, nil
	}
	c.mu.Lock()
	broken := c.broken
	c.mu.Unlock()
	if err == nil && broken != nil && s.answer.finish == "" {
		err = broken
	}
	var res *Result
	var fault *Error
	if err == nil {
		res, fault = s.answer.Result(s.req.Model)
	} else {
		fault = classify(ctx, context.Cause(sendCtx), c, err)
		fault.Usage = s.answer.spent()
	}
	if fault == nil {
		return res, nil
	}
	if (s.answer.chunks > 0 || fault.Class == Stalled) && fault.Usage.Calls == 0 {
		fault.Usage = spec.Usage{Calls: 1, Prompt: Estimate(s.req)} // the service charges for it and never reports how much
	}
	return nil, fault
}

// stream ranges over the SDK's chunks. A panic of the SDK becomes an error; one of the consumer continues its way.
func (s *send) stream(ctx context.Context) (err error) {
	defer func() {
		if s.yielding {
			return
		}
		if p := recover(); p != nil {
			err = Invalidf("the SDK panicked: %v", p)
		}
	}()
	contents, config := cloneContents(s.req.Contents), cloneConfig(s.req.Config)
	for chunk, err := range s.g.client.Models.GenerateContentStream(ctx, s.req.Model, contents, config) {
		if err != nil {
			return err
		}
		if !s.show(s.answer.Observe(chunk)) {
			return nil
		}
	}
	return nil
}

func (s *send) show(parts []*genai.Part) bool {
	for _, p := range parts {
		s.yielding = true
		ok := s.yield(Event{Delta: p}, nil)
		s.yielding = false
		if !ok {
			s.stopped = true
			return false
		}
	}
	return true
}

// errCaptured ends a call whose body has been seen.
var errCaptured = errors.New("captured")

// captor is a transport that sends nothing and keeps the body.
type captor struct{ body []byte }

// RoundTrip implements http.RoundTripper.
func (c *captor) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.body = bytes.TrimSpace(body)
	return nil, errCaptured
}

// Raw is the body of a request as Gemini's API would be sent it. It goes through the very same client, which sends nothing.
func Raw(ctx context.Context, req *Request) ([]byte, error) {
	c := &captor{}
	g, err := NewGemini(ctx, Options{
		APIKey: "none", BaseURL: "http://127.0.0.1", HTTPClient: &http.Client{Transport: c},
		Getenv: func(string) string { return "" },
	})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	for _, err := range g.Generate(ctx, req) {
		if c.body != nil {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return c.body, nil
}
