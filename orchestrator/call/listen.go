package call

import (
	"context"
	"sync"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/spec"
)

// Listen answers calls until stop, which waits for those under way. A call that panics, or finds no place, gets that as its
// answer.
func Listen(
	ctx context.Context, b *bus.Bus, subject string, log zerolog.Logger,
	answer func(context.Context, bus.Message) ([]byte, error),
) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	at, stack := &places{by: map[string]int{}}, sync.Once{}
	send := func(data []byte, err error, reply func([]byte) error) {
		if trace := StackOf(err); trace != nil {
			stack.Do(func() { log.Error().Bytes("stack", trace).Str("subject", subject).Msg("a call panicked") })
			log.Warn().Err(err).Str("subject", subject).Msg("a call has failed")
			data, err = failed(err)
		}
		if err == nil {
			err = reply(data)
		}
		if err != nil {
			log.Warn().Err(err).Str("subject", subject).Msg("a call was not answered")
		}
	}
	unsubscribe, err := b.Subscribe(ctx, subject, func(m bus.Message, reply func([]byte) error) {
		caller := bus.Caller(m.Subject)
		if ctx.Err() != nil {
			return
		}
		if !at.take(caller) {
			data, err := failed(AskAgain("too many calls are being answered"))
			send(data, err, reply)
			return
		}
		under.Go(func() {
			defer at.leave(caller)
			var data []byte
			still := bus.Working(ctx, reply)
			err := Guarded("answer a call", func() (err error) {
				data, err = answer(ctx, m)
				return err
			})
			still()
			send(data, err, reply)
		})
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return func() { cancel(); unsubscribe(); under.Wait() }, nil
}

// failed is the answer to a call that nothing becomes of.
func failed(err error) ([]byte, error) {
	return spec.JSON(&Answer{Error: err.Error(), Class: ClassOf(err)})
}
