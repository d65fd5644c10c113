package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// maxErrorBody bounds what is read of an error's body.
const maxErrorBody = 1 << 20

// How long a server may be silent by default. Thoughts are not streamed: a model that thinks for long begins late.
const (
	defaultSilence = time.Minute
	deepFirst      = 5 * time.Minute
)

var errIdle = errors.New("the server sent nothing")

// newTransport makes the connections of one client. Without a proxy Google speaks HTTP/2 and needs one; gateways mostly
// speak HTTP/1.1, where the default of two idle connections a host would open a new one for nearly every call. There is
// no timeout for headers or for the whole: a long answer is not a fault, and silence is the watchdog's business.
func newTransport() *http.Transport {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   128,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	return t
}

// callKey finds the call in a request's context.
type callKey struct{}

// call is the state of one send in the transport: status, headers and body of a refusal, how the stream broke.
type call struct {
	req     *Request
	plain   bool   // the answer is one document, not a stream
	encoded func() // gives the encoder's place back; called once the request is on its way
	stop    context.CancelCauseFunc
	refuse  refuser // nil means Google's

	mu      sync.Mutex
	sent    bool
	status  int
	header  http.Header
	refusal []byte
	broken  error
}

// refuser turns a refusal into the error that it stands for.
type refuser = func(status int, h http.Header, body []byte) *Error

// refused is the error of the refusal that came.
func (c *call) refused() *Error {
	if c.refuse != nil {
		return c.refuse(c.status, c.header, c.refusal)
	}
	return FromStatus(c.status, c.header, c.refusal)
}

func (c *call) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = err
	}
}

// newHTTPClient makes the client that sends every call through a wire. base is nil when the transport is the caller's.
func newHTTPClient(opt Options, tell bool) (client *http.Client, base *http.Transport) {
	client = &http.Client{}
	if opt.HTTPClient != nil {
		*client = *opt.HTTPClient
	}
	under := client.Transport
	if under == nil {
		base = newTransport()
		under = base
	}
	if client.CheckRedirect == nil {
		// The key is in a header that net/http would carry to any other host.
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	client.Transport = &wire{
		base: under, tell: tell,
		patience: opt.Patience, silence: cmp.Or(opt.silence, defaultSilence),
	}
	return client, base
}

// wire is the RoundTripper under the SDK. Every send carries its own *call in the context.
type wire struct {
	base http.RoundTripper
	// patience may be nil; silence is for models that it does not know.
	patience func(model string) (first, silence time.Duration)
	silence  time.Duration
	// tell reports that the base URL is not Google's own, so that our headers may be sent.
	tell bool
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return w.base.RoundTrip(req)
	}
	c.encoded()
	c.mu.Lock()
	c.sent = true
	c.mu.Unlock()
	if w.tell {
		req = req.Clone(req.Context())
		c.req.Meta.write(req.Header)
	}
	first, silence := w.patienceFor(c.req)
	body := watch(c.stop, first, silence)
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		body.timer.Stop()
		return nil, err
	}
	c.mu.Lock()
	c.status, c.header = resp.StatusCode, resp.Header
	c.mu.Unlock()
	body.ReadCloser = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return w.refused(resp, body, c)
	}
	if c.plain {
		resp.Body = body
		return resp, nil
	}
	resp.Body = newReframer(body, c.failed)
	resp.ContentLength = -1
	return resp, nil
}

// patienceFor is how long the server may be silent before the first byte and between bytes.
func (w *wire) patienceFor(req *Request) (first, silence time.Duration) {
	if w.patience != nil {
		first, silence = w.patience(req.Model)
	}
	switch {
	case first > 0:
	case req.deep():
		first = max(w.silence, deepFirst)
	default:
		first = w.silence
	}
	return first, cmp.Or(silence, w.silence)
}

// refused keeps the body of an error, because the SDK drops the headers and trusts the code in the body.
func (w *wire) refused(resp *http.Response, body *watched, c *call) (*http.Response, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if closeErr := body.Close(); err == nil {
		err = closeErr
	}
	c.mu.Lock()
	c.refusal = text
	c.mu.Unlock()
	if err != nil {
		c.failed(err) // the status alone still tells the class
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}

func (m Meta) write(h http.Header) {
	set := func(name, value string) {
		if value != "" && value != "0" {
			h.Set("X-Divisi-"+name, value)
		}
	}
	set("Run", m.Run)
	set("Task", m.Task)
	set("Attempt", strconv.Itoa(m.Attempt))
	set("Turn", strconv.Itoa(m.Turn))
	set("Purpose", m.Purpose)
}

// watched is a body whose call ends when the server is silent: for first until the first byte, for idle between bytes. The
// clock runs only while a read waits: a slow consumer is not a silent server.
type watched struct {
	io.ReadCloser

	timer       *time.Timer
	first, idle time.Duration
	began       time.Time
	alive       atomic.Bool
}

// watch starts the clock before there is a body, so that it covers the wait for headers too.
func watch(stop context.CancelCauseFunc, first, idle time.Duration) *watched {
	w := &watched{first: first, idle: idle, began: time.Now()}
	w.timer = time.AfterFunc(first, func() { stop(w.silence()) })
	return w
}

func (w *watched) silence() error {
	if w.alive.Load() {
		return fmt.Errorf("%w for %s in the middle of its answer (silence)", errIdle, w.idle)
	}
	return fmt.Errorf("%w for %s (first_byte)", errIdle, w.first)
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	left := w.idle
	if !w.alive.Load() {
		left = max(0, w.first-time.Since(w.began))
	}
	w.timer.Reset(left)
	n, err := w.ReadCloser.Read(p)
	w.timer.Stop()
	w.alive.Store(w.alive.Load() || n > 0)
	return n, err
}

// Close implements io.Closer.
func (w *watched) Close() error {
	w.timer.Stop()
	return w.ReadCloser.Close()
}
