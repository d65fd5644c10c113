package hub

import (
	"context"
	"sync"
	"time"

	"divisi/bus/member"
	"divisi/orchestrator/depot"
)

// expiryPause is between two times that a server reports that its certificate ends soon.
const expiryPause = 24 * time.Hour

// watchEnd tells at once, and then every day, that the certificate of the server ends soon, until stop, which waits.
func watchEnd(ctx context.Context, ends time.Time, tell func(string)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(expiryPause)
		defer tick.Stop()
		for {
			if text := member.Expiry(ends, depot.Now()); text != "" {
				tell(text)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); done.Wait() }
}
