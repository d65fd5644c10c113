package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"
)

// ShortWait is the longest delay that all calls wait for. A longer one is of one model, and reported. Tests set a shorter one.
var ShortWait = 5 * time.Minute

// classify turns whatever ended a send into an *Error. parent is the caller's context, cause why the send's own context
// ended.
func classify(parent context.Context, cause error, c *call, err error) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if parent.Err() != nil {
		return cancelled(parent.Err())
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if errors.Is(cause, errIdle) {
		return &Error{Class: Stalled, Status: c.status, Message: cause.Error(), Err: cause, tries: 2} // then another model
	}
	if c.status != 0 && (c.status < 200 || c.status > 299) {
		return c.refused()
	}
	var api genai.APIError
	if errors.As(err, &api) {
		return refusalError(streamStatus(api), c.header, streamFault(api))
	}
	switch {
	case c.broken != nil:
		return &Error{Class: Truncated, Message: "the stream broke: " + shorten(c.broken.Error()), Err: c.broken}
	case !c.sent:
		return &Error{Class: Invalid, Message: "the request could not be built: " + shorten(err.Error())}
	case c.status == 0:
		return &Error{Class: Unavailable, Message: shorten(err.Error()), Err: err}
	}
	return &Error{Class: Truncated, Message: "the stream could not be read: " + shorten(err.Error())}
}

// FromStatus is the error that an HTTP refusal stands for; body is what the API sent. Implementations of Model that do
// not speak HTTP use it to fail as the API does.
func FromStatus(status int, h http.Header, body []byte) *Error {
	return refusalError(status, h, parseFault(body))
}

// streamFault brings an error event of a stream into the form of an error body.
func streamFault(api genai.APIError) apiFault {
	f := apiFault{Code: api.Code, Message: api.Message, Status: api.Status}
	if raw, err := json.Marshal(api.Details); err == nil && json.Unmarshal(raw, &f.Details) != nil {
		f.Details = nil // details in a foreign shape say nothing here
	}
	return f
}

// streamStatus is the code of an error event; gateways leave it out, so the status word serves too.
func streamStatus(api genai.APIError) int {
	if api.Code != 0 {
		return api.Code
	}
	switch api.Status {
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE":
		return http.StatusBadRequest
	case "UNAUTHENTICATED":
		return http.StatusUnauthorized
	case "PERMISSION_DENIED":
		return http.StatusForbidden
	case "NOT_FOUND":
		return http.StatusNotFound
	case "RESOURCE_EXHAUSTED":
		return http.StatusTooManyRequests
	case "UNAVAILABLE":
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// refusalError is the class of a status.
func refusalError(status int, h http.Header, f apiFault) *Error {
	now := time.Now()
	e := &Error{Class: Unavailable, Status: status, Message: shorten(f.Message), RetryAfter: f.retryDelay(h, now)}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	switch {
	case f.full() && e.RetryAfter <= ShortWait:
		e.Class, e.tries = Overloaded, 1 // it does not pass in seconds: another model is asked at once
	case status == http.StatusTooManyRequests:
		rateLimit(e, f, now)
	case status == http.StatusServiceUnavailable || status == 529:
		e.Class = Overloaded
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Class = Auth
	case status == http.StatusRequestEntityTooLarge:
		e.Class = TooLong
	case status >= 300 && status < 400:
		e.Class, e.Message = Invalid, "the server redirects; a key is not sent on: set the base URL to the final address"
	case status > 599:
		e.Class, e.Message = Invalid, strings.TrimSuffix("HTTP has no such status: "+e.Message, ": ")
	case status == http.StatusRequestTimeout || status == 499 || status >= 500:
	default:
		badRequest(e, f)
	}
	return e
}

func rateLimit(e *Error, f apiFault, now time.Time) {
	e.Class = RateLimited
	var kind quotaKind
	e.Quota, kind = f.quota()
	e.RetryAfter = kind.wait(e.RetryAfter, now)
	e.wait = kind == quotaShort && e.RetryAfter <= ShortWait
	e.project = kind == quotaSpend
}

// badRequest tells the kinds of 4xx apart that are not simply wrong. The API has no codes for them, only words.
func badRequest(e *Error, f apiFault) {
	e.Class = Invalid
	msg := strings.ToLower(f.Message)
	switch {
	case f.hasReason("API_KEY_INVALID") || strings.Contains(msg, "api key not valid"), strings.Contains(msg, "api key expired"),
		strings.Contains(msg, "api key not found"):
		e.Class = Auth
	case strings.Contains(msg, "token count") && strings.Contains(msg, "exceeds"),
		strings.Contains(msg, "context length"), strings.Contains(msg, "payload size exceeds"),
		strings.Contains(msg, "prompt is too long"):
		e.Class = TooLong
	case strings.Contains(msg, "thought_signature"), strings.Contains(msg, "thought signature"):
		e.signature = true
	}
}
