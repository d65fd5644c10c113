package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// progressEvery is the shortest time between two progress events of one attempt.
const progressEvery = 2 * time.Second

// tellPatience is how long what runs waits for a progress event to be stored.
const tellPatience = time.Second

// teller stores progress events, one at a time. One that the log does not take at once is left to a goroutine, and those that
// come meanwhile are dropped: a command whose output is read no further, or a model's answer, would run out of its time.
type teller struct {
	store func(contextscope.Event)
	room  chan struct{}
	began atomic.Int64 // when the one at work did, in nanoseconds
	under sync.WaitGroup
}

func newTeller(store func(contextscope.Event)) *teller {
	return &teller{store: store, room: make(chan struct{}, 1)}
}

// tell is safe for concurrent use.
func (t *teller) tell(e contextscope.Event) {
	if began := t.began.Load(); began != 0 && time.Since(time.Unix(0, began)) > tellPatience {
		return
	}
	patience := time.NewTimer(tellPatience)
	defer patience.Stop()
	select {
	case t.room <- struct{}{}:
	case <-patience.C:
		return
	}
	t.began.Store(time.Now().UnixNano())
	stored := make(chan struct{})
	t.under.Go(func() {
		defer close(stored)
		t.store(e)
		t.began.Store(0)
		<-t.room
	})
	select {
	case <-stored:
	case <-patience.C:
	}
}

// wait waits for what is being stored.
func (t *teller) wait() { t.under.Wait() }

// progress turns what an agent says it is doing into events, seldom enough for the log. It is safe for concurrent use.
type progress struct {
	clock  func() time.Time
	append func(contextscope.Event)

	mu   sync.Mutex
	last time.Time
	said string
}

// doing appends a progress event when the words are new and the one before is long enough ago.
func (p *progress) doing(what string) {
	if !p.due(what) {
		return
	}
	p.append(wire.Draft(contextscope.KindProgress, wire.Progress{Doing: what}))
}

// waits appends the reason for which a call of a model waits: one event for each wait.
func (p *progress) waits(w spec.Wait) { p.now(wire.Progress{Doing: w.String(), Wait: &w}) }

func (p *progress) now(event wire.Progress) {
	p.mu.Lock()
	again := event.Doing == p.said && event.Wait == nil
	p.said, p.last = event.Doing, p.clock()
	p.mu.Unlock()
	if !again {
		p.append(wire.Draft(contextscope.KindProgress, event))
	}
}

func (p *progress) due(what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	if what == p.said || now.Sub(p.last) < progressEvery {
		return false
	}
	if p.said != "" {
		// The first words only say that it has begun: what follows at once is worth more than a pause.
		p.last = now
	}
	p.said = what
	return true
}
