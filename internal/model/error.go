package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// Class is the kind of a failure. It decides what happens next; the message is for people.
type Class string

// The classes.
const (
	// RateLimited is a quota that no short wait helps: Quota names it and RetryAfter reports how long.
	RateLimited Class = "rate_limited"
	// Overloaded is a server that is too busy (503).
	Overloaded Class = "overloaded"
	// Stalled is a server that sends nothing: no first byte, or no further one.
	Stalled Class = "stalled"
	// Truncated is a cut, empty or unreadable answer: a discarded turn.
	Truncated Class = "truncated"
	// Blocked is a prompt or an answer that the server withheld.
	Blocked Class = "blocked"
	// MalformedCall is an answer whose tool calls the server could not use.
	MalformedCall Class = "malformed_call"
	// TooLong is a request beyond the model's window.
	TooLong Class = "too_long"
	// Invalid is a request that is wrong and stays wrong.
	Invalid Class = "invalid"
	// Auth is a missing, wrong or unauthorised key.
	Auth Class = "auth"
	// Cancelled is the caller's context: cancelled or past its deadline (Err tells).
	Cancelled Class = "cancelled"
	// Unavailable is the network, or a server that failed.
	Unavailable Class = "unavailable"
	// OverBudget is a call that does not fit the process's token budget.
	OverBudget Class = "budget"
	// Uncounted is a call that a budget of several processes cannot count, for a fault of the machine.
	Uncounted Class = "uncounted"
)

// Error is how a call failed.
type Error struct {
	Class   Class
	Message string
	// RetryAfter is how long the server asked to wait; zero when it did not say.
	RetryAfter time.Duration
	// Quota is the id of the exceeded quota, where the server named it.
	Quota string
	// Status is the HTTP status; zero when there was none.
	Status int
	// Err is the cause, where there is one that a caller may test. It never contains the key.
	Err error
	// Usage is the cost of the failed call, all tries summed; the prompt is estimated where a stream broke before the server
	// told.
	Usage spec.Usage
	// Estimated reports that some of it is what was reserved.
	Estimated bool
	// Used is the quota that is used up, where it was known before the call.
	Used spec.Wait

	// tries bounds the tries of this very failure; zero leaves it to the policy.
	tries int
	// signature reports that the server refused a thought signature.
	signature bool
	// wait reports that every call is to wait for RetryAfter.
	wait bool
	// project reports that the quota is of the whole project and not of a model.
	project bool
}

// Error returns class, status and message; never the key.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model: %s", e.Class)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; retry after %s", e.RetryAfter.Round(time.Second))
	}
	return b.String()
}

// minKey is the shortest key, in bytes, that is looked for in texts: a shorter one is part of many words.
const minKey = 6

// Hide puts [key] in the place of a key that a server, a gateway or a library has put into the error's texts.
func (e *Error) Hide(key string) *Error {
	if len(key) < minKey {
		return e
	}
	e.Message, e.Quota = strings.ReplaceAll(e.Message, key, "[key]"), strings.ReplaceAll(e.Quota, key, "[key]")
	if e.Err != nil && strings.Contains(e.Err.Error(), key) {
		e.Err = errors.New(strings.ReplaceAll(e.Err.Error(), key, "[key]"))
	}
	return e
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error. A context's end is Cancelled; anything foreign is Unavailable; nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return cancelled(err)
	}
	return &Error{Class: Unavailable, Message: shorten(err.Error()), Err: err}
}

func cancelled(err error) *Error {
	return &Error{Class: Cancelled, Message: err.Error(), Err: err}
}

// Invalidf returns an error of class Invalid.
func Invalidf(format string, args ...any) *Error {
	return &Error{Class: Invalid, Message: fmt.Sprintf(format, args...)}
}

// shorten bounds a message that came from outside: a gateway may answer with a whole page.
func shorten(s string) string { return text.Clip(text.Valid(strings.TrimSpace(s)), 600) }
