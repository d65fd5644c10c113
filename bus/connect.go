package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	connectPatience = 5 * time.Second
	reconnectWait   = 250 * time.Millisecond
	minPayload      = 1 << 20
	pingEvery       = 10 * time.Second // two without an answer, and a connection that died silently is lost
)

func (b *Bus) connect(h holder) error {
	b.url = h.URL
	nc, err := nats.Connect(h.URL, append(h.login(), b.connectOptions()...)...)
	if errors.Is(err, nats.ErrNoServers) {
		return fmt.Errorf("%w: no NATS server answers at %s: %w", ErrUnavailable, h.URL, err)
	}
	if err != nil {
		return fmt.Errorf("%w: connect to %s: %w", ErrUnavailable, h.URL, err)
	}
	b.nc = nc
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
		nats.Name("divisi"), nats.Timeout(connectPatience), nats.PingInterval(pingEvery),
		nats.ErrorHandler(b.reportAsync), nats.DisconnectErrHandler(b.reportLost), nats.ReconnectHandler(b.reportBack),
	}
	if b.attached {
		return append(opts, nats.NoReconnect()) // the server ends with its holder and never comes back there
	}
	opts = append(opts, nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait))
	if b.server != nil {
		opts = append(opts, nats.InProcessServer(b.server.srv))
	}
	return opts
}

// reportAsync logs errors that no call returns: calls that the server forbids, slow readers, protocol errors.
func (b *Bus) reportAsync(_ *nats.Conn, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		b.denied.Store(&denial{text: err.Error(), at: time.Now()})
	}
	entry := b.log.Error().Err(err)
	if sub != nil {
		entry = entry.Str("subject", sub.Subject)
	}
	entry.Msg("the message server reported an error")
}

// denial is what the server last forbade. It answers a forbidden call with silence and says so on the side.
type denial struct {
	text string
	at   time.Time
}

func (b *Bus) deniedSince(begun time.Time) string {
	if d := b.denied.Load(); d != nil && d.at.After(begun) {
		return d.text
	}
	return ""
}

func (b *Bus) reportLost(_ *nats.Conn, err error) {
	if !b.isClosing() {
		b.log.Warn().Err(err).Str("url", b.url).Msg("lost the connection to the message server")
	}
}

// reportBack makes every reader start again: its place on the server may be gone, which it would otherwise learn only
// from missing heartbeats.
func (b *Bus) reportBack(_ *nats.Conn) {
	b.mu.Lock()
	for p := range b.pulls {
		p.Stop()
	}
	close(b.back)
	b.back = make(chan struct{})
	b.mu.Unlock()
	b.log.Info().Str("url", b.url).Msg("connected to the message server again")
}

// attempt runs call with the time that one answer may take, and again while that may help. again says whether an
// earlier try may have been carried out although its answer got lost.
func (b *Bus) attempt(ctx context.Context, call func(context.Context) error) (again bool, err error) {
	begun := time.Now()
	defer b.spent.Since(begun)
	end := begun.Add(b.retryPatience)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		try, cancel := context.WithTimeout(ctx, b.tryPatience)
		err = call(try)
		cancel()
		if err == nil || !b.worthRetry(err) || ctx.Err() != nil || time.Now().After(end) {
			return again, err
		}
		if text := b.deniedSince(begun); text != "" {
			return again, fmt.Errorf("%w: %w (the server said: %s)", ErrUnavailable, err, text)
		}
		if b.server != nil {
			if fault := b.server.fault(); fault != nil {
				return again, fault
			}
		}
		b.log.Warn().Err(err).Msg("no answer from the message server; trying again")
		again = true
		if err := pause(ctx, b.closing, wait); err != nil {
			return again, err
		}
	}
}

func (b *Bus) worthRetry(err error) bool {
	// A lost connection fails what waits for an answer as if it had been closed for good.
	return transient(err) || errors.Is(err, nats.ErrConnectionClosed) && !b.nc.IsClosed()
}
