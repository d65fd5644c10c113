package wire

// RefusedError is an assignment that cannot be executed anywhere. Class is the class of its fault; empty for FaultAssignment.
type RefusedError struct {
	Class string
	Err   error
}

// Error is that of what it wraps.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *RefusedError) Unwrap() error { return e.Err }
