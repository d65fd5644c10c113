package tool

import "context"

type queueKey struct{}

// WithQueue returns a context in which Queue calls suspend, which stops the call's clocks until resume is called. Both may be
// called from whichever goroutine the tool uses.
func WithQueue(ctx context.Context, suspend func() (resume func())) context.Context {
	return context.WithValue(ctx, queueKey{}, suspend)
}

// Queue says that a tool waits for a place that others have: until resume is called its time and its silence do not count. Such
// waits of one call come one after another. Where no clock runs it does nothing.
func Queue(ctx context.Context) (resume func()) {
	if suspend, ok := ctx.Value(queueKey{}).(func() func()); ok {
		return suspend()
	}
	return func() {}
}
