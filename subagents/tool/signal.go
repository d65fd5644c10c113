package tool

import (
	"context"

	"divisi/internal/text"
)

type (
	beatKey  struct{}
	queueKey struct{}
)

// WithBeat returns a context in which Beat calls heard, from whichever goroutines the tools use; it must return at once.
func WithBeat(ctx context.Context, heard func(note string)) context.Context {
	return context.WithValue(ctx, beatKey{}, heard)
}

// Beat reports that a tool that takes long still runs, and in a few words where it is. Without WithBeat it does nothing.
func Beat(ctx context.Context, note string) {
	if heard, ok := ctx.Value(beatKey{}).(func(string)); ok {
		heard(text.Short(text.OneLine(note), maxDoing))
	}
}

// WithQueue returns a context in which Queue calls suspend, which stops the call's clocks until resume is called. Both may be
// called from whichever goroutine the tool uses.
func WithQueue(ctx context.Context, suspend func() (resume func())) context.Context {
	return context.WithValue(ctx, queueKey{}, suspend)
}

// Queue reports that a tool waits for a permit that others hold: until resume is called its time and its silence do not count.
// Such waits of one call come one after another. Without WithQueue it does nothing.
func Queue(ctx context.Context) (resume func()) {
	if suspend, ok := ctx.Value(queueKey{}).(func() func()); ok {
		return suspend()
	}
	return func() {}
}
