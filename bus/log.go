package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// headerID marks a message with the call that published it, so that the call can tell its own work from another's. The
// server's own table of ids is of no use here: it inspects the expected sequence first.
const headerID = "Divisi-Id"

// Message is one message of the log, or a control message.
type Message struct {
	Subject string
	Pos     uint64 // place in the log, from 1; grows, with gaps where other runs append. 0 in control messages
	Data    []byte
	Time    time.Time // when the server stored it; zero in control messages
	// Lost reports which messages are lost from Pos on, and why: then this takes their place, under no subject.
	Lost string
}

// Append adds data to the log under subject, if the newest message of that subject is at last (0: there is none yet).
// ErrFenced means that another process appended since and nothing was stored. Lost answers are retried, and an append that
// was stored is never taken for another's. Any other error leaves open whether it was stored; Last tells. A worker that is a
// member may not look: where only that could tell, the error is ErrUnsettled.
func (b *Bus) Append(ctx context.Context, subject string, data []byte, last uint64) (pos uint64, err error) {
	return b.AppendFiltered(ctx, subject, subject, data, last)
}

// AppendFiltered is Append where last is the newest position of everything that filter matches: a conductor appends
// under many subjects and fences with ConductorFilter.
func (b *Bus) AppendFiltered(ctx context.Context, subject, filter string, data []byte, last uint64) (uint64, error) {
	if err := errors.Join(checkSubject(subject, prefixLog), checkFilter(filter, prefixLog)); err != nil {
		return 0, fmt.Errorf("append: %w", err)
	}
	if !covers(filter, subject) {
		return 0, fmt.Errorf("append: %w: %s does not match its own fence %s", ErrSubject, subject, filter)
	}
	pos, err := b.store(ctx, b.events, &nats.Msg{Subject: subject, Data: data}, filter, last)
	if err != nil {
		return 0, fmt.Errorf("append to %s after %d: %w", subject, last, err)
	}
	return pos, nil
}

// store publishes m to a stream if the newest message that filter matches is at last. ErrFenced if not.
func (b *Bus) store(ctx context.Context, s jetstream.Stream, m *nats.Msg, filter string, last uint64) (uint64, error) {
	if len(m.Data) > MaxData {
		return 0, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(m.Data), MaxData)
	}
	return b.publish(ctx, s, m, filter, last)
}

func (b *Bus) publish(ctx context.Context, s jetstream.Stream, m *nats.Msg, filter string, last uint64) (uint64, error) {
	if m.Header == nil {
		m.Header = nats.Header{}
	}
	name := streamEvents // who may not read the log has no more of it
	if s != nil {
		name = s.CachedInfo().Config.Name
	}
	id := rand.Text()
	m.Header.Set(headerID, id)
	var pos uint64
	try := func() (again bool, err error) {
		return b.attempt(ctx, []string{m.Subject}, func(ctx context.Context) error {
			ack, err := b.js.PublishMsg(ctx, m, jetstream.WithExpectStream(name),
				jetstream.WithExpectLastSequenceForSubject(last, filter), jetstream.WithRetryAttempts(0))
			if err == nil {
				pos = ack.Sequence
			}
			return err
		})
	}
	again, err := try()
	if (full(err) || transient(err)) && ctx.Err() == nil && name != streamLeases { // the holder of a lease has to know at once
		again, err = true, b.awaitStore(ctx, err, try)
	}
	if again && refused(err) {
		pos, err = b.mine(ctx, s, filter, id)
	}
	return pos, b.class(ctx, err)
}

// mine decides after a lost answer: the newest message is the one that the lost try stored, or one of a writer who came first, or
// who has taken over since.
func (b *Bus) mine(ctx context.Context, s jetstream.Stream, filter, id string) (uint64, error) {
	if s == nil {
		return 0, ErrUnsettled
	}
	m, err := b.newest(ctx, s, filter)
	switch {
	case err != nil:
		return 0, err
	case m == nil || m.Header.Get(headerID) != id:
		return 0, ErrFenced
	}
	return m.Sequence, nil
}

// Last is the newest message that filter matches (a subject or a filter), or nil when there is none.
func (b *Bus) Last(ctx context.Context, filter string) (*Message, error) {
	if err := checkFilter(filter, prefixLog); err != nil {
		return nil, fmt.Errorf("last: %w", err)
	}
	if err := b.readable(); err != nil {
		return nil, fmt.Errorf("last of %s: %w", filter, err)
	}
	m, err := b.newest(ctx, b.events, filter)
	if err != nil {
		return nil, fmt.Errorf("last of %s: %w", filter, err)
	}
	if m == nil {
		return nil, nil
	}
	return &Message{Subject: m.Subject, Pos: m.Sequence, Data: m.Data, Time: m.Time}, nil
}

func (b *Bus) newest(ctx context.Context, s jetstream.Stream, filter string) (*jetstream.RawStreamMsg, error) {
	var m *jetstream.RawStreamMsg
	asks := []string{"$JS.API.DIRECT.GET.*." + filter, "$JS.API.STREAM.MSG.GET.*"}
	_, err := b.attempt(ctx, asks, func(ctx context.Context) (err error) {
		m, err = s.GetLastMsgForSubject(ctx, filter)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			m, err = nil, nil
		}
		return err
	})
	return m, b.class(ctx, err)
}
