package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/orchestrator/conductor"
)

const (
	// maxCalls bounds the calls that are answered at once, maxCallsOf those of one who calls.
	maxCalls, maxCallsOf = 128, 32
	// maxPaced bounds for how many callers it is known how often they called.
	maxPaced = 4096
)

// places counts the calls under way, by caller.
type places struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// take takes a place; there is none where too many calls are under way.
func (p *places) take(caller string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= maxCalls || p.by[caller] >= maxCallsOf {
		return false
	}
	p.all++
	p.by[caller]++
	return true
}

func (p *places) leave(caller string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.by[caller]--; p.by[caller] == 0 {
		delete(p.by, caller)
	}
}

// pace is how often each caller has called. The zero value is ready to use.
type pace struct {
	mu sync.Mutex
	by map[string]time.Time // when the caller has all of its calls again
}

// take reports whether a call may be made: so many at once, then one more after each time.
func (p *pace) take(caller string, burst int, every time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now()
	if p.by == nil {
		p.by = map[string]time.Time{}
	}
	if len(p.by) >= maxPaced {
		maps.DeleteFunc(p.by, func(_ string, full time.Time) bool { return !full.After(at) })
	}
	full := p.by[caller]
	if full.Before(at) {
		full = at
	}
	full = full.Add(every)
	if len(p.by) >= maxPaced || full.Sub(at) > time.Duration(burst)*every {
		return false
	}
	p.by[caller] = full
	return true
}

// errBusy is why a call is to be made again.
var errBusy = &conductor.AgainError{Why: "too many calls are being answered"}

// answerCalls answers calls until stop, which waits for those under way. refuse answers what panicked or found no place.
func answerCalls(
	ctx context.Context, b *bus.Bus, subject string, log zerolog.Logger,
	answer func(context.Context, bus.Message) ([]byte, error), refuse func(error) ([]byte, error),
) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	at, stack := &places{by: map[string]int{}}, sync.Once{}
	send := func(data []byte, err error, reply func([]byte) error) {
		if trace := stackOf(err); trace != nil {
			stack.Do(func() { log.Error().Bytes("stack", trace).Str("subject", subject).Msg("a call panicked") })
			log.Warn().Err(err).Str("subject", subject).Msg("a call has failed")
			data, err = refuse(err)
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
			data, err := refuse(errBusy)
			send(data, err, reply)
			return
		}
		under.Go(func() {
			defer at.leave(caller)
			var data []byte
			still := bus.Working(ctx, reply)
			err := guarded("answer a call", func() (err error) {
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

// panicError is what a panic became, with its stack.
type panicError struct {
	text  string
	stack []byte
}

func (e *panicError) Error() string { return e.text }

// maxStack bounds the stack of a panic, in bytes.
const maxStack = 8 << 10

// guarded makes a *panicError of a panic.
func guarded(what string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			err = &panicError{fmt.Sprintf("%s: panic: %.500v", what, p), stack[:min(len(stack), maxStack)]}
		}
	}()
	return do()
}

// stackOf is the stack of the panic that an error was; nil for another one.
func stackOf(err error) []byte {
	if p := (*panicError)(nil); errors.As(err, &p) {
		return p.stack
	}
	return nil
}
