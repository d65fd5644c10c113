package model

import (
	"context"

	"divisi/internal/spec"
)

type noteKey struct{}

// Noted is the beginning of a call under a budget, with what it has Reserved, or its end, with the money that is Booked.
type Noted struct {
	Call        string
	Reserved    *Reserved
	Booked      spec.Money
	Model, Tier string
}

// WithNotes returns a context whose calls under a budget are noted before they are sent, and when they are booked, on the
// goroutine of the call: what is not noted is not sent.
func WithNotes(ctx context.Context, note func(Noted) error) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// noteEnds notes the ends of all sends, once the caller is told what they have used: a process that is killed before, in a long
// wait for the next send, leaves what they had reserved.
func (c *loop) noteEnds() {
	note, noted := c.ctx.Value(noteKey{}).(func(Noted) error)
	for _, end := range c.ends {
		if noted {
			_ = note(end) // it counts as reserved then
		}
	}
}
