package depot

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"divisi/bus"
	"divisi/subagents/wire"
)

// Say publishes what is repeated before long, and may be lost.
func (p *Place) Say(ctx context.Context, b *bus.Bus, subject string, what any) {
	data, err := json.Marshal(what)
	if err == nil {
		err = b.Publish(ctx, subject, data)
	}
	if err != nil && ctx.Err() == nil {
		p.Log.Debug().Err(err).Str("subject", subject).Msg("a presence was not sent")
	}
}

// askedAgain is for how long one who is asked who is there is silent then: any member may ask, and all hear the answers.
const askedAgain = 50 * time.Millisecond

// Present calls say at once, every few seconds, and when a process asks who is there, until stop, which waits.
func Present(ctx context.Context, b *bus.Bus, say func()) (stop func(), err error) {
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
