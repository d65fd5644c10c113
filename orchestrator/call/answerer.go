package call

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Entry is a call of a table, which S answers.
type Entry[S any] struct {
	Kind[None, None]
	// Body and Result are empty ones, of their types.
	Body, Result any
	answer       func(ctx context.Context, s S, in *In) (any, error)
}

// On has a function answer a call.
func On[S, Q, A any](k Kind[Q, A], do func(s S, ctx context.Context, in *In, q *Q) (A, error)) Entry[S] {
	return Entry[S]{Kind[None, None](k), *new(Q), *new(A), func(ctx context.Context, s S, in *In) (any, error) {
		q := new(Q)
		var err error
		if len(in.Body) > 0 {
			err = wire.Decode(in.Body, q)
		}
		if err == nil {
			err = spec.Bounds(q)
		}
		if err != nil {
			return nil, Refusedf("the call %s of %.80s cannot be read: %v", in.Name, in.From, err)
		}
		in.Checked = true
		return do(s, ctx, in, q)
	}}
}

// Table is all that S is asked, by name.
type Table[S any] map[string]Entry[S]

// TableOf makes a table.
func TableOf[S any](entries ...Entry[S]) Table[S] {
	t := make(Table[S], len(entries))
	for _, e := range entries {
		t[e.Name] = e
	}
	return t
}

// Answerer answers the calls of a table.
type Answerer[S any] struct {
	Table Table[S]
	As    S
	Bus   *bus.Bus
	Log   zerolog.Logger
	Pace  *Pace
	// Held returns an error where another process answers: then this one does not; nil for none.
	Held func() error
	// May refuses a call of who may not make it; nil for none.
	May func(ctx context.Context, may Who, in *In) error
	// Refused is told of each call that nothing becomes of; nil for no one.
	Refused func(in *In, err error)
	// Gone is the answer after the callee stopped: the next one is asked then. With "" the answer is that of the function.
	Gone string
	// Viewed reports that a caller on a subject is not shown what commands printed, and reads no objects; nil for none.
	Viewed func(subject, from string) bool
}

// Listen answers the calls on a subject until stop, which waits for those under way.
func (d *Answerer[S]) Listen(ctx context.Context, subject string) (stop func(), err error) {
	return Listen(ctx, d.Bus, subject, d.Log, d.Answer)
}

// Answer does what a message asks for, once all of the call has been checked, and returns the answer as it is sent.
func (d *Answerer[S]) Answer(ctx context.Context, m bus.Message) ([]byte, error) {
	if d.Held != nil {
		if err := d.Held(); err != nil {
			return nil, err // another process answers
		}
	}
	in := &In{From: bus.Caller(m.Subject), Subject: m.Subject}
	in.Viewed = d.Viewed != nil && d.Viewed(in.Subject, in.From)
	result, err := d.do(ctx, in, m.Data)
	switch {
	case ctx.Err() != nil && d.Gone != "":
		err = &Error{Gone, d.Gone}
	case errors.Is(err, ErrUnanswered):
		return nil, err
	case err != nil && d.Refused != nil:
		d.Refused(in, err)
	}
	a := &Answer{ID: in.ID}
	if err == nil {
		a.Result, err = spec.JSON(result)
	}
	if err != nil {
		a.Error, a.Class = err.Error(), ClassOf(err)
	}
	return d.fit(ctx, in, a)
}

func (d *Answerer[S]) do(ctx context.Context, in *In, data []byte) (any, error) {
	if err := in.read(data); err != nil {
		return nil, err
	}
	e, known := d.Table[in.Name]
	switch {
	case !known:
		return nil, Refusedf("unknown call %.80q", in.Name)
	case len(data) > e.Size:
		return nil, Refusedf("the call %s has %d bytes, and may have %d", in.Name, len(data), e.Size)
	case !d.Pace.take(in.From+" "+in.Name, e.Burst, e.Every):
		return nil, AskAgain(fmt.Sprintf("%s asks too often: %s is answered every %s", in.From, in.Name, e.Every))
	case d.May != nil:
		if err := d.May(ctx, e.May, in); err != nil {
			return nil, err
		}
	}
	return e.answer(ctx, d.As, in)
}

// sealedAnswer is the kind of objects that have large results.
const sealedAnswer = "answer"

// fit encodes an answer. A large one is sent compressed, or has its result in an object.
func (d *Answerer[S]) fit(ctx context.Context, in *In, a *Answer) ([]byte, error) {
	data, err := spec.JSON(a)
	if err == nil {
		data, err = wire.Press("", data)
	}
	switch {
	case err != nil || len(data) <= bus.MaxData:
		return data, err
	case in.Viewed:
		return failed(Refusedf("the answer is too large for a viewer: %d bytes", len(data)))
	}
	name := wire.Name(sealedAnswer, a.Result)
	if err := d.Bus.Cache().Put(ctx, name, a.Result); err != nil {
		return nil, err
	}
	return spec.JSON(&Answer{ID: a.ID, Large: name})
}
