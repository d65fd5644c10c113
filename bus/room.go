package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// roomless counts the calls that wait for room in the store of a server elsewhere. The first of them tells of it, and the last.
type roomless struct {
	mu    sync.Mutex
	calls int
}

// add counts calls, and runs edge where the first one begins to wait or the last one ends.
func (r *roomless) add(n int, edge func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls += n; r.calls == max(n, 0) {
		edge()
	}
}

// awaitRoom tries a call again that failed with err, while the store of a server elsewhere has no room: an embedded one was
// repaired by then.
func (b *Bus) awaitRoom(ctx context.Context, err error, try func() (again bool, err error)) (again bool, _ error) {
	tell := b.tell.Load()
	if b.server != nil || tell == nil {
		return false, err
	}
	b.roomless.add(1, func() {
		(*tell)(fmt.Sprintf("the store of the server at %s is full: %v\nWhat is to be stored waits until there is room, for %s at most",
			b.url, err, roomPatience))
	})
	for end := time.Now().Add(roomPatience); full(err) && time.Now().Before(end); _, err = try() {
		if pause(ctx, b.closing, roomPoll) != nil {
			break
		}
	}
	b.roomless.add(-1, func() {
		if err == nil {
			(*tell)(fmt.Sprintf("there is room again in the store of the server at %s", b.url))
		}
	})
	return true, err
}

// Mend repairs the store of the embedded server as calls of this process do, for those of others, until stop.
func (b *Bus) Mend() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var mending sync.WaitGroup
	mending.Go(func() {
		for pause(ctx, b.closing, mendPoll) == nil {
			starts := b.starts()
			fault := b.server.fault()
			if fault == nil {
				fault = b.server.outgrown()
			}
			if fault == nil {
				continue
			}
			err := b.repair(ctx, starts, fault)
			if errors.Is(err, ErrDamaged) || errors.Is(err, ErrClosed) {
				b.log.Error().Err(err).Msg("the server cannot store anything any more: start it again")
				return
			}
		}
	})
	return func() { cancel(); mending.Wait() }
}
