package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Pages returns messages of one log from a position on, oldest first: at least one where there are some, and none where there are
// none by now.
type Pages func(ctx context.Context, from uint64) ([]Message, error)

// pageEvery is how often a reader that has come to the end asks for the next page.
const pageEvery = time.Second

// ReadThrough has Read and Tail ask for pages, where the server does not permit this member to read the log: another process
// reads it and chooses what this one is shown. It is called before the first of them.
func (b *Bus) ReadThrough(pages Pages) { b.pages = pages }

// readPages is Read. What is appended while it reads may be in it.
func (b *Bus) readPages(ctx context.Context, filter string, from uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		next := max(from, 1)
		for {
			page, err := b.pages(ctx, next)
			if err != nil {
				yield(Message{}, fmt.Errorf("read %s at %d: %w", filter, next, err))
				return
			}
			if len(page) == 0 || !b.turn(page, filter, &next, yield) {
				return
			}
		}
	}
}

// tailPages is Tail. Who answers may be away for a time, as a server may.
func (b *Bus) tailPages(ctx context.Context, filter string, from uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		next := max(from, 1)
		for ctx.Err() == nil {
			page, err := b.pages(ctx, next)
			away := errors.Is(err, ErrNoListener) || errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrDenied)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil && (!away || b.isClosing() || b.nc.IsClosed()):
				yield(Message{}, fmt.Errorf("tail %s at %d: %w", filter, next, err))
				return
			case !b.turn(page, filter, &next, yield):
				return
			case len(page) == 0 && pause(ctx, b.closing, pageEvery) != nil:
				if ctx.Err() == nil {
					yield(Message{}, fmt.Errorf("tail %s: %w", filter, ErrClosed))
				}
				return
			}
		}
	}
}

// turn yields what filter matches of a page, and moves next behind it; it is false where who reads has enough.
func (b *Bus) turn(page []Message, filter string, next *uint64, yield func(Message, error) bool) bool {
	for _, m := range page {
		*next = m.Pos + 1
		if covers(filter, m.Subject) && !yield(m, nil) {
			return false
		}
	}
	return true
}
