package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"divisi/bus/member"
)

const (
	connectPatience = 5 * time.Second
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 100 * time.Millisecond
	minPayload      = 1 << 20
	pingEvery       = 10 * time.Second // two without an answer, and a connection that died silently is lost
)

func (b *Bus) connect(h owner) error {
	b.url = h.URL
	at, opts := h.URL, append(h.login(), b.connectOptions()...)
	if b.login != nil {
		var more []nats.Option
		at, more = secured(at, b.login.Certificate)
		opts = append(opts, more...)
	}
	nc, err := nats.Connect(at, opts...)
	if errors.Is(err, nats.ErrAuthorization) && b.login != nil {
		return b.unknown()
	}
	if why := refusedBy(err); why != nil {
		return why
	}
	if errors.Is(err, nats.ErrNoServers) {
		return fmt.Errorf("%w: no NATS server answers at %s: %w", ErrUnavailable, h.URL, err)
	}
	if err != nil {
		return fmt.Errorf("%w: connect to %s: %w", ErrUnavailable, h.URL, err)
	}
	if b.nc = nc; nc.ConnectedClusterName() != "" { // whose servers may be electing
		b.retryPatience = retryPatience
	}
	if err := b.fits(nc); err != nil {
		return err
	}
	if got := nc.MaxPayload(); got < minPayload {
		return fmt.Errorf("%w: %s takes messages of %d bytes; its max_payload must be 1MB at least", ErrUnavailable, h.URL, got)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(b.tryPatience))
	if err != nil {
		return fmt.Errorf("set up JetStream at %s: %w", h.URL, err)
	}
	b.js = js
	return nil
}

func (b *Bus) connectOptions() []nats.Option {
	opts := []nats.Option{
		nats.Name(b.speaks.join("divisi")), nats.Timeout(connectPatience), nats.PingInterval(pingEvery),
		// What is kept while there is no connection arrives late: a request for a task that no worker waits for any more, or the
		// heartbeat of an attempt that was interrupted meanwhile.
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(b.reportAsync), nats.DisconnectErrHandler(b.reportLost), nats.ReconnectHandler(b.reportBack),
		nats.ClosedHandler(func(*nats.Conn) { close(b.gone) }),
	}
	if b.attached {
		opts = append(opts, nats.NoReconnect()) // the server ends with its owner and never comes back there
	} else {
		opts = append(opts, nats.MaxReconnects(-1), nats.CustomReconnectDelay(b.reconnects))
	}
	switch {
	case b.server != nil:
		opts = append(opts, nats.InProcessServer(b.server))
	case b.name != "":
		opts = append(opts, nats.CustomInboxPrefix(member.Inbox(b.name)), nats.PermissionErrOnSubscribe(true))
	}
	return opts
}

// reportAsync logs errors that no call returns: what the server forbids and no call waits for, slow readers, protocol errors.
func (b *Bus) reportAsync(_ *nats.Conn, sub *nats.Subscription, err error) {
	if publish, subject, ok := forbidden(err); ok && publish && b.denials.deny(subject, b.denial(publish, subject)) {
		return
	}
	entry := b.log.Error().Err(err)
	if sub != nil {
		entry = entry.Str("subject", sub.Subject)
	}
	entry.Msg("the message server reported an error")
}

func (b *Bus) reportLost(nc *nats.Conn, err error) {
	b.lost.Store(nc)
	level := zerolog.WarnLevel
	if len(b.repairing) > 0 { // on purpose
		level = zerolog.DebugLevel
	}
	if !b.isClosing() {
		b.log.WithLevel(level).Err(err).Str("url", b.url).Msg("lost the connection to the message server")
	}
}

// reconnects is the pause before each new try to connect. It ends the connection to a server that has another version by now.
func (b *Bus) reconnects(int) time.Duration {
	if nc := b.lost.Load(); nc != nil { // no other hook of the library is told what a server answers then
		if why := refusedBy(nc.LastError()); why != nil {
			b.leave(nc, why)
		}
	}
	return reconnectWait + rand.N(reconnectJitter) //nolint:gosec // so that not all come at once
}

func (b *Bus) leave(nc *nats.Conn, why error) {
	b.unfit.Store(&why)
	nc.Close()
}

// Unfit is why the connection has ended where program and server do not fit any more, else nil.
func (b *Bus) Unfit() error {
	if why := b.unfit.Load(); why != nil {
		return *why
	}
	return nil
}

// reportBack makes every reader start again: its place on the server may be gone, which it would otherwise learn only
// from missing heartbeats.
func (b *Bus) reportBack(nc *nats.Conn) {
	if err := b.fits(nc); err != nil {
		b.leave(nc, err)
		return
	}
	b.mu.Lock()
	for p := range b.pulls {
		p.Stop()
	}
	close(b.back)
	b.back, b.backAt = make(chan struct{}), time.Now()
	b.mu.Unlock()
	b.log.Info().Str("url", b.url).Msg("connected to the message server again")
}

// attempt runs call with the time that one answer may take, and again while that may help. asks matches the subjects that call
// publishes to: when the server forbids one, attempt ends at once. again reports whether an earlier try may have been done
// although its answer got lost.
func (b *Bus) attempt(ctx context.Context, asks []string, call func(context.Context) error) (again bool, err error) {
	begun := time.Now()
	defer b.spent.Since(begun)
	end, repairs := begun.Add(b.retryPatience), 0
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		starts := b.starts()
		if err = b.try(ctx, asks, call); err == nil || !b.worthRetry(err) || ctx.Err() != nil || time.Now().After(end) {
			return again, err
		}
		if fault := b.fault(err); fault != nil {
			again = true
			if repairs++; repairs > maxRepairs {
				return again, fault
			}
			if fault = b.repair(ctx, starts, fault); fault != nil {
				return again, fault
			}
			end = time.Now().Add(b.retryPatience)
			continue
		}
		level := zerolog.WarnLevel
		if errors.Is(err, nats.ErrReconnectBufExceeded) { // the loss of the connection was told
			level = zerolog.DebugLevel
		}
		b.log.WithLevel(level).Err(err).Msg("no answer from the message server; trying again")
		again = true
		if err := pause(ctx, b.closing, wait); err != nil {
			return again, err
		}
	}
}

// try runs call once.
func (b *Bus) try(ctx context.Context, asks []string, call func(context.Context) error) error {
	allowed, stop := b.denials.await(ctx, asks)
	defer stop()
	try, cancel := context.WithTimeout(allowed, b.tryPatience)
	defer cancel()
	err := call(try)
	if denied := deniedIn(allowed); err != nil && denied != nil {
		return denied
	}
	return err
}

func (b *Bus) starts() int64 {
	if b.server == nil {
		return 0
	}
	return b.server.starts.Load()
}

// fault returns why the embedded server failed a call, where that is known.
func (b *Bus) fault(err error) error {
	if b.server == nil {
		return nil
	}
	if fault := b.server.fault(); fault != nil || !full(err) {
		return fault
	}
	return fmt.Errorf("%w: %w", ErrFull, err)
}

func (b *Bus) worthRetry(err error) bool {
	// A lost connection fails what waits for an answer as if it had been closed for good.
	return transient(err) || errors.Is(err, nats.ErrConnectionClosed) && !b.nc.IsClosed() || b.server != nil && full(err)
}
