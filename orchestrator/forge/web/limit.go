package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"divisi/internal/text"
)

// limitError is a refusal that ends with time. The request is not done.
type limitError struct{ *StatusError }

// Unwrap hides the class of the status: a limit is no missing right.
func (e *limitError) Unwrap() error { return nil }

// refused is the error of an answer that refuses, and notes a limit.
func (c *Client) refused(method, path string, res *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // what came of a refusal is enough
	err := &StatusError{method, path, res.StatusCode, message(data)}
	if res.StatusCode < http.StatusBadRequest { // writes follow none
		err.Message = "the repository has moved to another address: change that of the remote"
	}
	until, limited := c.limit(res, err.Message)
	if !limited {
		return err
	}
	c.hold(until, err.Message)
	return &limitError{err}
}

// message is what a forge says of a refusal, as one line.
func message(data []byte) string {
	var said struct {
		Message any `json:"message"`
		Error   any `json:"error"`
		Errors  any `json:"errors"`
	}
	if json.Unmarshal(data, &said) != nil {
		return text.Clip(text.OneLine(text.Valid(string(data))), text.MaxLine)
	}
	var words []string
	for _, v := range []any{said.Message, said.Error, said.Errors} {
		switch v := v.(type) {
		case nil:
		case string:
			words = append(words, v)
		default:
			line, _ := json.Marshal(v) //nolint:errchkjson // it was JSON
			words = append(words, string(line))
		}
	}
	return text.Clip(text.OneLine(strings.Join(words, " ")), text.MaxLine)
}

// limit is until when an answer asks to wait; limited reports whether it is about a limit.
//
// Source: GitHub, "Rate limits for the REST API"; GitLab, "Rate limits".
func (c *Client) limit(res *http.Response, said string) (until time.Time, limited bool) {
	now, h := c.Clock.Now(), res.Header
	after, err := strconv.Atoi(h.Get("Retry-After"))
	given := err == nil && after >= 0
	spent := h.Get("X-Ratelimit-Remaining") == "0" || h.Get("Ratelimit-Remaining") == "0"
	words := strings.ToLower(said)
	named := strings.Contains(words, "rate limit") || strings.Contains(words,
		"submitted too quickly") || strings.Contains(words, "abuse")
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
	case res.StatusCode == http.StatusForbidden && (given || spent || named):
	case res.StatusCode == http.StatusUnprocessableEntity && named:
	default:
		return time.Time{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	reset, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset")+h.Get("Ratelimit-Reset"), 10, 64)
	switch {
	case given:
		until = now.Add(time.Duration(after) * time.Second)
	case spent && err == nil:
		until = time.Unix(reset, 0)
	default:
		c.doubled = max(firstWait, min(2*c.doubled, mostWait))
		until = now.Add(c.doubled)
	}
	// A clock that is off must not stop all for days, nor let all go on at once.
	return now.Add(max(time.Second, min(until.Sub(now), mostWait))), true
}

// hold lets all requests wait.
func (c *Client) hold(until time.Time, why string) {
	c.mu.Lock()
	if until.After(c.until) {
		c.until = until
	}
	until = c.until
	c.mu.Unlock()
	if c.Limited != nil {
		c.Limited(until, why)
	}
}

// calm forgets how long a limit without a time was waited for.
func (c *Client) calm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubled = 0
}

// free returns when no limit holds.
func (c *Client) free(ctx context.Context) error {
	for {
		c.mu.Lock()
		wait := c.until.Sub(c.Clock.Now())
		c.mu.Unlock()
		if wait <= 0 {
			return ctx.Err()
		}
		if err := c.Clock.Wait(ctx, wait); err != nil {
			return err
		}
	}
}
