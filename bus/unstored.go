package bus

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// unstored counts the calls that a server elsewhere stores nothing of. The first of them reports it, and the last.
type unstored struct {
	mu    sync.Mutex
	calls int
}

// add counts calls, and runs edge where the first one begins to wait or the last one ends.
func (u *unstored) add(n int, edge func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls += n; u.calls == max(n, 0) {
		edge()
	}
}

// awaitStore tries a call again that failed with err, while the store of a server elsewhere is full or does not answer: one whose
// disk is full may do either. An embedded one was repaired by then.
func (b *Bus) awaitStore(ctx context.Context, err error, try func() (again bool, err error)) error {
	tell := b.tell.Load()
	if b.server != nil || tell == nil {
		return err
	}
	b.unstored.add(1, func() {
		(*tell)(fmt.Sprintf("the server at %s stores nothing: %v\nWrites wait until it does, for %s at most",
			b.url, err, roomPatience))
	})
	for end := time.Now().Add(roomPatience); (full(err) || transient(err)) && time.Now().Before(end); _, err = try() {
		if pause(ctx, b.closing, roomPoll) != nil {
			break
		}
	}
	b.unstored.add(-1, func() {
		if !full(err) && !transient(err) { // a refusal is an answer too
			(*tell)(fmt.Sprintf("the server at %s stores again", b.url))
		}
	})
	return err
}
