package limit

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// MaxDiff bounds, in bytes, what a failed attempt keeps of its changes; SaveTime the time to read them when the attempt's own
// time is over.
const (
	MaxDiff  = 12 << 10
	SaveTime = 10 * time.Second
)

// Ending is how the runtime ends an attempt.
type Ending struct {
	Status spec.Status
	Fault  spec.Fault
}

// CancelledError is the cause of the context of an attempt that a person or the conductor cancelled.
type CancelledError struct{ Reason string }

// Error says who or what cancelled.
func (c *CancelledError) Error() string { return "cancelled: " + c.Reason }

// EndingOf returns how an attempt ends whose context ended with a cause, or nil when that is no end of the attempt.
func EndingOf(cause error, b Bounds) *Ending {
	var c *CancelledError
	switch {
	case errors.As(cause, &c):
		f := spec.Fault{Class: wire.FaultCancelled, Message: strings.TrimSuffix(c.Error(), ": ")}
		return &Ending{Status: spec.StatusCancelled, Fault: f}
	case errors.Is(cause, ErrTime):
		f := spec.Fault{Class: wire.FaultTime, Message: fmt.Sprintf("no result after %s", b.Time)}
		return &Ending{Status: spec.StatusTimedOut, Fault: f}
	}
	return nil
}
