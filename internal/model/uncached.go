package model

import (
	"context"
	"iter"

	"divisi/internal/spec"
)

// uncached sends a request whole when the service refuses the cache that it names: a cache may end at any moment, and what
// it held is still in the request. It stands above the retries, so that a refusal is not a try.
type uncached struct {
	next      Model
	onRefused func(name string, err *Error)
}

// Generate implements Model.
func (m uncached) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	if req.Cached == nil {
		return m.next.Generate(ctx, req)
	}
	return func(yield func(Event, error) bool) {
		res, err := m.run(ctx, req, yield)
		switch {
		case err != nil:
			yield(Event{}, err)
		case res != nil:
			yield(Event{Result: res}, nil)
		}
	}
}

func (m uncached) run(ctx context.Context, req *Request, yield func(Event, error) bool) (*Result, *Error) {
	shown := false // a try before the refusal may have shown deltas
	show := func(ev Event, _ error) bool {
		shown = true
		return yield(ev, nil)
	}
	res, err := collect(m.next.Generate(ctx, req), show)
	if err == nil || err.Class != CacheRefused {
		return res, err
	}
	m.onRefused(req.Cached.Name, err)
	whole := *req
	whole.Cached = nil
	return m.whole(ctx, &whole, err.Usage, func(ev Event, _ error) bool {
		ev.Restart, shown = ev.Restart || shown, false
		return yield(ev, nil)
	})
}

// whole sends the request without its cache; wasted is what the tries with it had cost.
func (m uncached) whole(
	ctx context.Context, req *Request, wasted spec.Usage, yield func(Event, error) bool,
) (*Result, *Error) {
	res, err := collect(m.next.Generate(ctx, req), yield)
	if err != nil {
		err.Usage = err.Usage.Add(wasted)
	}
	if res != nil {
		res.Wasted = res.Wasted.Add(wasted)
	}
	return res, err
}
