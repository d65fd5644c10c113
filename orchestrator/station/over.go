package station

import (
	"context"
	"sync"

	"divisi/orchestrator/depot"
)

// end leaves the run, which is over.
func (e *workerRun) end() { e.ends.Do(func() { close(e.over) }) }

func (e *workerRun) ended() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

// seen notes that the conductor is there.
func (e *workerRun) seen() {
	at := depot.Now()
	e.heard.Store(&at)
}

// abandoned reports whether nothing is at work and the conductor has said nothing for long, although the server is there: it may
// have been killed before it could say that the run is over. One that comes back says so, and the worker works for it again.
func (e *workerRun) abandoned(w *Work) bool {
	return depot.Now().Sub(*e.heard.Load()) > setupTime && w.Bus.Steady(setupTime) && len(e.service().At) == 0
}

// untilOver is once, and ends without an error when the run is over.
func (e *workerRun) untilOver(ctx context.Context) error {
	inner, leave := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-e.over:
			leave()
		case <-e.falters:
			e.yield()
			leave()
		case <-inner.Done():
		}
	})
	defer watch.Wait()
	defer leave()
	err := e.once(inner)
	if e.ended() && ctx.Err() == nil {
		return nil
	}
	return err
}
