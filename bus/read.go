package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	readAhead     = 128              // messages on their way to a reader; at most MaxData bytes each
	readExpiry    = 20 * time.Second // of one pull request
	readHeartbeat = 5 * time.Second  // two missing ones and the reader starts again from where it was
	readInactive  = time.Minute      // after which the server forgets a reader that went away
)

var errGap = errors.New("a message was lost on its way")

// Read yields everything that filter matches from position from on (0 and 1: from the start) and that is in the log now,
// in order, then ends. An error is yielded once, last: without one, everything was yielded.
func (b *Bus) Read(ctx context.Context, filter string, from uint64) iter.Seq2[Message, error] {
	switch {
	case b.pages != nil:
		return b.readPages(ctx, filter, from)
	case b.files != nil:
		return b.files.read(ctx, filter, from)
	}
	return func(yield func(Message, error) bool) {
		end, err := b.Last(ctx, filter)
		if err != nil {
			yield(Message{}, fmt.Errorf("read: %w", err))
			return
		}
		if end == nil || end.Pos < from {
			return
		}
		for m, err := range b.Tail(ctx, filter, from) {
			if !yield(m, err) || err != nil || m.Pos >= end.Pos {
				return
			}
		}
		yield(Message{}, fmt.Errorf("read %s up to %d: %w", filter, end.Pos, context.Cause(ctx)))
	}
}

// Tail yields everything that filter matches from position from on, in order, each once, and continues with what is
// appended until ctx ends; then it ends without an error. It survives lost connections and restarts of an external
// server. It yields an error only when nothing can come any more: ErrClosed, ErrNoOwner, ErrSubject, ErrDenied.
func (b *Bus) Tail(ctx context.Context, filter string, from uint64) iter.Seq2[Message, error] {
	if b.pages != nil {
		return b.tailPages(ctx, filter, from)
	}
	return b.tail(ctx, filter, from)
}

// tail is Tail where this process may read the log itself.
func (b *Bus) tail(ctx context.Context, filter string, from uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if err := checkFilter(filter, prefixLog); err != nil {
			yield(Message{}, fmt.Errorf("tail: %w", err))
			return
		}
		if err := b.readable(); err != nil {
			yield(Message{}, fmt.Errorf("tail %s: %w", filter, err))
			return
		}
		c := &cursor{bus: b, filter: filter, next: max(from, 1)}
		defer c.close(ctx)
		wait := firstWait
		for {
			m, err := c.message(ctx)
			if err == nil {
				wait = firstWait
				if !yield(m, nil) {
					return
				}
				continue
			}
			c.close(ctx)
			if ctx.Err() == nil && !b.isClosing() && !b.nc.IsClosed() && !errors.Is(err, ErrDenied) {
				b.log.Debug().Err(err).Str("filter", filter).Uint64("next", c.next).Msg("reading starts again")
				if pause(ctx, b.closing, wait) == nil {
					wait = min(2*wait, longestWait)
					continue
				}
			}
			if ctx.Err() == nil {
				yield(Message{}, fmt.Errorf("tail %s: %w", filter, b.class(ctx, err)))
			}
			return
		}
	}
}

// readable returns ErrDenied where this login may not read the log.
func (b *Bus) readable() error {
	if b.events != nil {
		return nil
	}
	return b.denial(true, "$JS.API.STREAM.INFO."+streamEvents)
}

const (
	firstWait   = 5 * time.Millisecond
	longestWait = 2 * time.Second
)

// cursor is one reader's place in the log. It belongs to one goroutine.
type cursor struct {
	bus    *Bus
	filter string
	next   uint64 // the position to continue from
	name   string // of the server's side, "" while there is none
	seen   uint64 // messages of that side
	pull   jetstream.MessagesContext
}

// message waits for the next one. After an error the cursor must be closed before it is used again.
func (c *cursor) message(ctx context.Context) (Message, error) {
	if c.pull == nil {
		if err := c.open(ctx); err != nil {
			return Message{}, err
		}
	}
	for {
		m, err := c.pull.Next(jetstream.NextContext(ctx))
		if err != nil {
			return Message{}, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return Message{}, fmt.Errorf("message without a place: %w", err)
		}
		if c.seen++; meta.Sequence.Consumer != c.seen {
			return Message{}, errGap
		}
		if meta.Sequence.Stream < c.next {
			continue // the server starts at its end when asked for a place behind it
		}
		c.next = meta.Sequence.Stream + 1
		return Message{Subject: m.Subject(), Pos: meta.Sequence.Stream, Data: m.Data(), Time: meta.Timestamp}, nil
	}
}

// open makes a short-lived consumer, kept in the server's memory, that starts at the cursor's place.
func (c *cursor) open(ctx context.Context) error {
	config := jetstream.ConsumerConfig{
		FilterSubject: c.filter, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: c.next,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: readInactive,
	}
	var consumer jetstream.Consumer
	asks := []string{"$JS.API.CONSUMER.CREATE." + streamEvents + ".>"}
	err := c.bus.try(ctx, asks, func(ctx context.Context) (err error) {
		consumer, err = c.bus.events.CreateConsumer(ctx, config)
		return err
	})
	if err != nil {
		return fmt.Errorf("start reading %s at %d: %w", c.filter, c.next, err)
	}
	c.name, c.seen = consumer.CachedInfo().Name, 0
	c.pull, err = consumer.Messages(jetstream.PullMaxMessages(readAhead), jetstream.PullExpiry(readExpiry),
		jetstream.PullHeartbeat(readHeartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return fmt.Errorf("start reading %s at %d: %w", c.filter, c.next, err)
	}
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	c.bus.pulls[c.pull] = struct{}{}
	return nil
}

// close drops the server's side too, rather than leave it there until it is forgotten.
func (c *cursor) close(ctx context.Context) {
	if c.pull != nil {
		c.pull.Stop()
		c.bus.mu.Lock()
		delete(c.bus.pulls, c.pull)
		c.bus.mu.Unlock()
		c.pull = nil
	}
	if c.name == "" || c.bus.isClosing() || c.bus.nc.Status() != nats.CONNECTED {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushPatience)
	defer cancel()
	if err := c.bus.events.DeleteConsumer(ctx, c.name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		c.bus.log.Debug().Err(err).Str("filter", c.filter).Msg("a reader's place stays on the server for a while")
	}
	c.name = ""
}
