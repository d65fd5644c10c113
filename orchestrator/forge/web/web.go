// Package web speaks to the HTTP interface of a forge: it keeps to what the forge says of its limits, asks again with the tag of
// an answer that it has, and tells a write that may be done from one that is not.
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/forge"
)

const (
	// maxBody bounds an answer, maxKept the answers that are kept for their tags.
	maxBody = 16 << 20
	maxKept = 2000
	// writePause is between two writes; more of them at once are refused by the forges' secondary limits.
	writePause = time.Second
	// readTries is how often a read is sent, limitTries how often any request that a limit has refused.
	readTries, limitTries = 4, 8
	firstWait, mostWait   = time.Minute, time.Hour
)

// Clock is the time, and a wait that ends early with its context's error.
type Clock interface {
	Now() time.Time
	Wait(ctx context.Context, d time.Duration) error
}

// Client sends requests to one address. Its methods may be called from several goroutines; it has one writer at a time.
type Client struct {
	// Base is the address that paths are below. No request with a credential goes to another host.
	Base *url.URL
	// Authorize sets the credential.
	Authorize func(*http.Request)
	// Header is set on each request.
	Header http.Header
	HTTP   *http.Client
	Clock  Clock
	// Limited is told until when all requests wait, because the forge said so; nil for no listener.
	Limited func(until time.Time, why string)

	mu      sync.Mutex
	until   time.Time
	doubled time.Duration // the last wait that the forge named no time for
	kept    map[string]answer
	writing sync.Mutex
	wrote   time.Time
}

type answer struct {
	tag    string
	header http.Header
	body   []byte
}

// StatusError is an answer that refuses a request.
type StatusError struct {
	Method, Path string
	Code         int
	Message      string // of the forge, one line
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: the forge answers %d: %s", e.Method, e.Path, e.Code, e.Message)
}

// Unwrap is the class of the answer.
func (e *StatusError) Unwrap() error {
	switch e.Code {
	case http.StatusUnauthorized:
		return forge.ErrCredential
	case http.StatusForbidden:
		return forge.ErrForbidden
	case http.StatusNotFound, http.StatusGone:
		return forge.ErrNotFound
	case http.StatusConflict:
		return forge.ErrMoved
	}
	return nil
}

// Get reads a path into out, which may be nil, and returns the header of the answer.
func (c *Client) Get(ctx context.Context, path string, out any) (http.Header, error) {
	a, err := c.read(ctx, path)
	if err != nil {
		return nil, err
	}
	return a.header, decode(http.MethodGet, path, a.body, out)
}

// Bytes reads at most limit bytes of a path, which may answer with an address of another host: that one gets no credential.
func (c *Client) Bytes(ctx context.Context, path string, limit int) ([]byte, error) {
	var body []byte
	err := c.tried(ctx, func() (err error) {
		res, err := c.send(ctx, http.MethodGet, path, nil, "")
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode >= http.StatusBadRequest {
			return c.refused(http.MethodGet, path, res)
		}
		body, err = io.ReadAll(io.LimitReader(res.Body, int64(limit)))
		return err
	})
	return body, err
}

// Write sends in to a path and reads the answer into out; both may be nil. It is not repeated, but where a limit refused it.
// Where it may be done although it failed, the error is forge.ErrUncertain.
func (c *Client) Write(ctx context.Context, method, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if in == nil {
		data = nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	for try := 1; ; try++ {
		if err := c.Clock.Wait(ctx, c.wrote.Add(writePause).Sub(c.Clock.Now())); err != nil {
			return err
		}
		body, err := c.write(ctx, method, path, data)
		c.wrote = c.Clock.Now()
		if err == nil {
			c.calm()
			return decode(method, path, body, out)
		}
		if !errors.As(err, new(*limitError)) || try == limitTries {
			return err
		}
	}
}

func (c *Client) write(ctx context.Context, method, path string, data []byte) ([]byte, error) {
	if err := c.free(ctx); err != nil {
		return nil, err
	}
	res, err := c.send(ctx, method, path, data, "")
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s %s: %w: %w", method, path, forge.ErrUncertain, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusMultipleChoices {
		err := c.refused(method, path, res)
		if res.StatusCode >= http.StatusInternalServerError {
			return nil, fmt.Errorf("%w: %w", forge.ErrUncertain, err)
		}
		return nil, err
	}
	body, err := whole(res)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %w", method, path, forge.ErrUncertain, err)
	}
	return body, nil
}

// read reads a path, whole, and again where that may help.
func (c *Client) read(ctx context.Context, path string) (a answer, err error) {
	err = c.tried(ctx, func() error {
		had := c.had(path)
		res, err := c.send(ctx, http.MethodGet, path, nil, had.tag)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		switch {
		case res.StatusCode == http.StatusNotModified && had.tag != "":
			a = had
			return nil
		case res.StatusCode >= http.StatusBadRequest:
			return c.refused(http.MethodGet, path, res)
		}
		body, err := whole(res)
		if err != nil {
			return fmt.Errorf("GET %s: %w", path, err)
		}
		a = answer{res.Header.Get("ETag"), res.Header, body}
		c.keep(path, a)
		return nil
	})
	return a, err
}

// tried does a read, and again after limits, and after failures of the network or the forge.
func (c *Client) tried(ctx context.Context, do func() error) error {
	for try, limited := 1, 0; ; try++ {
		if err := c.free(ctx); err != nil {
			return err
		}
		err := do()
		var status *StatusError
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.As(err, new(*limitError)):
			if limited++; limited >= limitTries {
				return err
			}
			try = 0
			continue
		case errors.As(err, &status) && status.Code < http.StatusInternalServerError, try >= readTries:
			return err
		}
		if err := c.Clock.Wait(ctx, time.Second<<try); err != nil {
			return err
		}
	}
}

func (c *Client) send(ctx context.Context, method, path string, data []byte, tag string) (*http.Response, error) {
	at, err := c.address(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	for name, values := range c.Header {
		req.Header[name] = values
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	if data != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.Authorize(req)
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, unaddressed(err))
	}
	return res, nil
}

// address is that of a path below the base; one that leads elsewhere is refused.
func (c *Client) address(path string) (string, error) {
	at, err := url.Parse(strings.TrimSuffix(c.Base.String(), "/") + path)
	if err != nil || at.Host != c.Base.Host || at.Scheme != c.Base.Scheme || at.User != nil {
		return "", fmt.Errorf("the path %q is not below %s", text.Clip(path, text.MaxLine), c.Base)
	}
	return at.String(), nil
}

// unaddressed is an error of the HTTP client without the address, which may hold what gives access.
func unaddressed(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func whole(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxBody:
		return nil, fmt.Errorf("the answer has more than %d MB", maxBody>>20)
	}
	return body, nil
}

func decode(method, path string, body []byte, out any) error {
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: the answer is not what the forge describes: %w", method, path, err)
	}
	return nil
}

func (c *Client) had(path string) answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[path]
}

func (c *Client) keep(path string, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxKept {
		c.kept = map[string]answer{}
	}
	if a.tag != "" {
		c.kept[path] = a
	}
}
