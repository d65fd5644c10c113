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

// progress turns what an agent says it is doing into events, seldom enough for the log: words that come too early are appended
// once they are due, unless others have followed or the attempt has ended. It is safe for concurrent use.
type progress struct {
	clock  func() time.Time
	append func(contextscope.Event)

	mu   sync.Mutex
	last time.Time
	said string
	// next is appended by timer; empty for nothing.
	next   string
	timer  *time.Timer
	closed bool
	under  sync.WaitGroup
}

// doing appends a progress event when the words are new, and the one before is long enough ago or as soon as it is.
func (p *progress) doing(what string) {
	if p.due(what) {
		p.append(wire.Draft(contextscope.KindProgress, wire.Progress{Doing: what}))
	}
}

// waits appends the reason for which a call of a model waits: one event for each wait.
func (p *progress) waits(w spec.Wait) {
	p.mu.Lock()
	again := p.said == w.String()
	p.said, p.next, p.last = w.String(), "", p.clock()
	p.mu.Unlock()
	if again {
		return
	}
	p.append(wire.Draft(contextscope.KindProgress, wire.Progress{Doing: w.String(), Wait: &w}))
}

// due reports whether words are to be appended now, and has them appended later where it is too early.
func (p *progress) due(what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	early := progressEvery - now.Sub(p.last)
	switch {
	case p.closed:
		return false
	case what == p.said:
		p.next = ""
		return false
	case early <= 0:
		p.said, p.next, p.last = what, "", now
		return true
	}
	if p.next = what; p.timer == nil {
		p.under.Add(1)
		p.timer = time.AfterFunc(early, p.late)
	}
	return false
}

// late appends what came too early, if it still holds.
func (p *progress) late() {
	defer p.under.Done()
	p.mu.Lock()
	what := p.next
	p.timer, p.next = nil, ""
	if what != "" {
		p.said, p.last = what, p.clock()
	}
	p.mu.Unlock()
	if what != "" {
		p.append(wire.Draft(contextscope.KindProgress, wire.Progress{Doing: what}))
	}
}

// close has nothing appended any more.
func (p *progress) close() {
	p.mu.Lock()
	p.closed, p.next = true, ""
	if p.timer != nil && p.timer.Stop() {
		p.under.Done()
	}
	p.mu.Unlock()
	p.under.Wait()
}
