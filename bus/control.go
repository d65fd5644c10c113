package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"divisi/bus/member"
)

// errNoReplyWanted: the message was published, not requested.
var errNoReplyWanted = errors.New("the message asks for no reply")

// Publish sends data to those who listen to subject now. It may be lost; what must not be goes into the log.
func (b *Bus) Publish(ctx context.Context, subject string, data []byte) error {
	if err := errors.Join(checkControl(subject), checkSize(data)); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("publish to %s: %w", subject, context.Cause(ctx))
	}
	err := b.nc.Publish(subject, data)
	if err == nil && b.name != "" {
		err = b.permitted(ctx, true, subject)
	}
	if err != nil {
		return fmt.Errorf("publish to %s: %w", subject, b.class(ctx, err))
	}
	return nil
}

// silence is how long who asks gets no sign before it asks again: less than half of what a lease lasts, as who was asked may be
// gone, and who takes its place is to be asked soon. WorkingEvery is how often who answers later reports that it is at it.
const (
	silence      = leaseTime * 2 / 5
	WorkingEvery = silence / 4
)

// Request sends data and waits for the reply until ctx ends. ErrNoListener when no process listens, ErrNoAnswer after seconds
// without a sign of life, or when the connection was lost meanwhile: what was asked for may have been done.
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := errors.Join(checkControl(subject), checkSize(data)); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	answer, err := b.ask(ctx, subject, data)
	if err != nil && !errors.Is(err, ErrNoListener) {
		err = b.class(ctx, err)
	}
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", subject, err)
	}
	return answer, nil
}

func (b *Bus) ask(ctx context.Context, subject string, data []byte) ([]byte, error) {
	back, inbox, answers := b.Back(), b.nc.NewInbox(), make(chan *nats.Msg, 16)
	sub, err := b.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := sub.Unsubscribe(); err != nil {
			b.log.Debug().Err(err).Str("subject", subject).Msg("stopped waiting for an answer")
		}
	}()
	allowed, stop := b.denials.await(ctx, []string{subject})
	defer stop()
	if err := b.nc.PublishRequest(subject, inbox, data); err != nil {
		return nil, err
	}
	quiet := time.NewTimer(b.silence)
	defer quiet.Stop()
	for {
		select {
		case m := <-answers:
			switch {
			case m.Header.Get("Status") == "503":
				return nil, ErrNoListener
			case len(m.Data) > 0:
				return m.Data, nil
			}
			quiet.Reset(b.silence)
		case <-quiet.C:
			return nil, fmt.Errorf("%w: no sign of life for %s", ErrNoAnswer, b.silence)
		case <-back:
			return nil, fmt.Errorf("%w: the connection was lost meanwhile", ErrNoAnswer)
		case <-b.gone:
			return nil, nats.ErrConnectionClosed
		case <-b.closing:
			return nil, ErrClosed
		case <-allowed.Done():
			return nil, context.Cause(allowed)
		}
	}
}

// Working has who asked wait for an answer that takes long, until stop, which waits: an empty reply is a sign of life.
func Working(ctx context.Context, reply func([]byte) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var signs sync.WaitGroup
	signs.Go(func() {
		tick := time.NewTicker(WorkingEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if reply(nil) != nil {
					return // who asked is told nothing then, and asks again
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); signs.Wait() }
}

// Subscribe calls handle for each message to subject, or to those that a filter of presences or of all who ask matches, one after
// the other, in a goroutine of its own, from before Subscribe returns until stop is called or the Bus closes. reply answers a
// Request, and is a mere sign of life without data; after Publish it returns an error. stop waits for a running handle, so handle
// must not call it; it may be called more than once.
func (b *Bus) Subscribe(
	ctx context.Context, subject string, handle func(m Message, reply func([]byte) error),
) (stop func(), err error) {
	if err := checkListen(subject); err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return b.listen(ctx, subject, handle)
}

// Bounds of control messages, in bytes: a request to join, a line of a limit or an attempt, a presence, a call of a person.
const (
	maxJoin     = 4 << 10
	maxSaid     = 4 << 10
	maxPresence = 256 << 10
	maxAsked    = 64 << 10
)

// mostOf is how many bytes a message to a subject may have: what listens keeps it until it is done with the one before.
func mostOf(subject string) int {
	first, rest, _ := strings.Cut(subject, ".")
	switch {
	case subject == member.JoinSubject:
		return maxJoin
	case first == prefixPresence && strings.HasPrefix(rest, "w."):
		return maxPresence
	case first == prefixPresence, first == prefixControl && strings.HasSuffix(rest, ".active"):
		return maxSaid
	case first == prefixControl && strings.HasPrefix(rest, "worker."):
		return maxAsked
	}
	return minPayload
}

// Messages that wait for one listener: more are lost, as control messages may be. The client library would keep 64 MiB.
const maxWaitMessages, maxWaitBytes = 4096, 16 << 20

func (b *Bus) listen(
	ctx context.Context, subject string, handle func(m Message, reply func([]byte) error),
) (stop func(), err error) {
	l := &listener{busy: make(chan struct{}, 1), bus: b}
	l.sub, err = b.nc.Subscribe(subject, func(m *nats.Msg) { l.hear(m, handle) })
	if err == nil {
		err = l.sub.SetPendingLimits(maxWaitMessages, maxWaitBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, b.class(ctx, err))
	}
	b.keepListener(l, true)
	if err := b.permitted(ctx, false, subject); err != nil {
		return nil, errors.Join(fmt.Errorf("subscribe to %s: %w", subject, b.class(ctx, err)), l.stop(context.WithoutCancel(ctx)))
	}
	return func() {
		if err := l.stop(context.WithoutCancel(ctx)); err != nil {
			b.log.Debug().Err(err).Str("subject", subject).Msg("stopped listening")
		}
	}, nil
}

// permitted returns when the server has acted on what was published or subscribed to before.
func (b *Bus) permitted(ctx context.Context, publish bool, subject string) error {
	flush, cancel := context.WithTimeout(ctx, b.tryPatience)
	defer cancel()
	if err := b.nc.FlushWithContext(flush); err != nil {
		return err
	}
	return b.deniedJust(publish, subject)
}

func checkSize(data []byte) error {
	if len(data) > MaxData {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), MaxData)
	}
	return nil
}

// listener is one subscription. The goroutine that has put a value into busy may act: a call of handle, or stop for good.
type listener struct {
	bus  *Bus
	sub  *nats.Subscription
	busy chan struct{}
	once sync.Once
	err  error
	// panicked is done once a handler has.
	panicked sync.Once
}

func (l *listener) hear(m *nats.Msg, handle func(Message, func([]byte) error)) {
	select {
	case l.busy <- struct{}{}:
	default:
		return // stopped; messages that were on their way fall away
	}
	defer func() { <-l.busy }()
	if len(m.Data) > mostOf(m.Subject) {
		l.bus.log.Debug().Str("subject", m.Subject).Int("bytes", len(m.Data)).Msg("a control message was too large")
		return
	}
	defer l.survive(m.Subject)
	handle(Message{Subject: m.Subject, Data: m.Data}, func(data []byte) error {
		if m.Reply == "" {
			return fmt.Errorf("reply on %s: %w", m.Subject, errNoReplyWanted)
		}
		if !isInbox(m.Reply) {
			return fmt.Errorf("reply on %s: %w: %.80q is no inbox", m.Subject, ErrSubject, m.Reply)
		}
		if err := checkSize(data); err != nil {
			return fmt.Errorf("reply on %s: %w", m.Subject, err)
		}
		if err := m.Respond(data); err != nil {
			return fmt.Errorf("reply on %s: %w", m.Subject, err)
		}
		return nil
	})
}

// maxStack bounds the stack of a handler that panicked, in bytes.
const maxStack = 8 << 10

// survive has a panic of a handler end that call of it alone. The first one is logged with its stack.
func (l *listener) survive(subject string) {
	p := recover()
	if p == nil {
		return
	}
	l.panicked.Do(func() {
		stack := debug.Stack()
		l.bus.log.Error().Bytes("stack", stack[:min(len(stack), maxStack)]).Str("subject", subject).Msg("a handler panicked")
	})
	l.bus.log.Warn().Str("subject", subject).Msgf("a message was not handled: panic: %.500v", p)
}

func (l *listener) stop(ctx context.Context) error {
	l.once.Do(func() {
		l.bus.keepListener(l, false)
		if err := l.sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			l.err = fmt.Errorf("stop listening to %s: %w", l.sub.Subject, err)
		}
		select {
		case l.busy <- struct{}{}:
		case <-ctx.Done():
			l.err = fmt.Errorf("stop listening to %s: a handler is still running: %w", l.sub.Subject, context.Cause(ctx))
		}
	})
	return l.err
}

func (b *Bus) keepListener(l *listener, keep bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if keep {
		b.listeners[l] = struct{}{}
	} else {
		delete(b.listeners, l)
	}
}

func (b *Bus) stopListeners(ctx context.Context) error {
	b.mu.Lock()
	all := make([]*listener, 0, len(b.listeners))
	for l := range b.listeners {
		all = append(all, l)
	}
	b.mu.Unlock()
	var errs []error
	for _, l := range all {
		errs = append(errs, l.stop(ctx))
	}
	return errors.Join(errs...)
}
