package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRedirects is how often a server may send a request on, within its own host.
const maxRedirects = 5

// caller calls one server. It is no client of anything else: redirects to other hosts are refused, and the headers stay there.
type caller struct {
	transport *http.Transport
	headers   http.Header
}

func newCaller(headers http.Header) *caller {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: startTime,
	}
	return &caller{transport: t, headers: headers}
}

func (c *caller) transportTo(url string) sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: c, CheckRedirect: sameServer}, MaxRetries: 1, MaxEventSize: maxMessage,
		// Nothing that a server sends unasked is needed: what belongs to a call comes with its answer.
		DisableStandaloneSSE: true,
	}
}

func sameServer(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return fmt.Errorf("it redirects to another server, %s://%s, which is not followed", r.URL.Scheme, r.URL.Host)
	}
	if len(via) > maxRedirects {
		return errors.New("it redirects again and again")
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (c *caller) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range c.headers {
		r.Header[name] = values
	}
	response, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.ContentLength > maxMessage {
		_ = response.Body.Close() // nothing of it was read
		return nil, fmt.Errorf("its answer has %d bytes, and %d is the most", response.ContentLength, maxMessage)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), eventStream) { // its events are bounded one by one
		response.Body = &bounded{ReadCloser: response.Body, left: maxMessage}
	}
	return response, nil
}

const eventStream = "text/event-stream"

// bounded is a body that fails when it is too long.
type bounded struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("its answer has more than %d bytes", maxMessage)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
