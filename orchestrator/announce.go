package orchestrator

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"divisi/bus"
	"divisi/internal/release"
	"divisi/subagents/wire"
)

// announce says every few seconds, and when it is asked, that the run takes workers, until stop, which waits.
func (h *conduct) announce(ctx context.Context) (stop func(), err error) {
	return present(ctx, h.bus, func() { h.conducting(ctx) })
}

// conducting says once that the run takes workers, or that it is over.
func (h *conduct) conducting(ctx context.Context) {
	what := wire.NewConducting(h.spec.Run, release.Version())
	what.Over = h.over.Load()
	h.say(ctx, h.bus, bus.RunPresence(h.spec.Run), what)
}

// say publishes what is repeated before long, and may be lost.
func (p *place) say(ctx context.Context, b *bus.Bus, subject string, what any) {
	data, err := json.Marshal(what)
	if err == nil {
		err = b.Publish(ctx, subject, data)
	}
	if err != nil && ctx.Err() == nil {
		p.log.Debug().Err(err).Str("subject", subject).Msg("a presence was not sent")
	}
}

// askedAgain is for how long one who is asked who is there is silent then: any member may ask, and all hear the answers.
const askedAgain = 50 * time.Millisecond

// present calls say at once, every few seconds, and when a process asks who is there, until stop, which waits.
func present(ctx context.Context, b *bus.Bus, say func()) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	asked := make(chan struct{}, 1)
	deaf, err := b.Subscribe(ctx, bus.PresenceAsk(), func(bus.Message, func([]byte) error) {
		select {
		case asked <- struct{}{}:
		default:
		}
	})
	if err != nil {
		cancel()
		return nil, err
	}
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(wire.PresentEvery)
		defer tick.Stop()
		for {
			say()
			select {
			case <-time.After(askedAgain):
			case <-ctx.Done():
				return
			}
			select {
			case <-asked:
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); deaf(); done.Wait() }, nil
}
