package model

import (
	"context"
	"fmt"
	"iter"
	"time"

	"divisi/internal/spec"
)

// outagePause is the time between two tries of a call whose service is away.
const outagePause = 30 * time.Second

// enduring asks again when a service is away, after all tries and stand-ins: each pause once more, until most is over.
type enduring struct {
	next Model
	hold *Hold
	most time.Duration
}

// Generate implements Model.
func (m enduring) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var wasted spec.Usage
		var end time.Time
		for shown, try := false, 2; ; try++ {
			res, err := anew(m.next.Generate(ctx, req), &shown, yield)
			switch {
			case res != nil:
				res.Wasted = res.Wasted.Add(wasted)
				yield(Event{Result: res}, nil)
				return
			case err == nil:
				return // the consumer broke off
			case try == 2:
				end = time.Now().Add(m.most)
			}
			wasted = wasted.Add(err.Usage)
			if !m.wait(ctx, req, err, try, end) {
				err.Usage = wasted
				yield(Event{}, err)
				return
			}
			once := *req
			once.tries, req = 1, &once
		}
	}
}

// wait waits for the next try and reports whether there is one.
func (m enduring) wait(ctx context.Context, req *Request, err *Error, try int, end time.Time) bool {
	left := time.Until(end)
	if err.Class != Unavailable && err.Class != Overloaded && err.Class != Stalled || m.most <= 0 {
		return false
	}
	if left <= 0 || err.RetryAfter > left {
		err.Message += fmt.Sprintf(" (try %d, given up after %s)", try-1, m.most)
		return false
	}
	pause := min(max(outagePause, err.RetryAfter), left)
	until := time.Now().Add(pause)
	m.hold.stand(until)
	tell(ctx, spec.Wait{
		For: spec.WaitOutage, Model: req.choice().String(), Try: try, Until: until, End: end, Why: err.Error(),
	})
	return sleep(ctx, pause) == nil
}
