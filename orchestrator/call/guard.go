package call

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// panicError wraps a panic, with its stack.
type panicError struct {
	text  string
	stack []byte
}

func (e *panicError) Error() string { return e.text }

// maxStack bounds the stack of a panic, in bytes.
const maxStack = 8 << 10

// Guarded makes an error of a panic.
func Guarded(what string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			err = &panicError{fmt.Sprintf("%s: panic: %.500v", what, p), stack[:min(len(stack), maxStack)]}
		}
	}()
	return do()
}

// StackOf is the stack of the panic that an error was; nil for another one.
func StackOf(err error) []byte {
	if p := (*panicError)(nil); errors.As(err, &p) {
		return p.stack
	}
	return nil
}
