// Package usage marks errors of the caller: a wrong flag, a damaged file, a run that has ended. Its input is a text that names
// the next step, its output an error that keeps the class however it is wrapped. It never stands for a failure of the machine or
// of a service.
package usage

import "fmt"

// Error is a mistake of the caller, with what to do about it.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// Errorf makes an Error.
func Errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
