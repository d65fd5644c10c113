package worker

import (
	"context"
	"sync"

	"divisi/subagents/gate"
)

// Places are how much a process does at once, for all runs that it works for together.
type Places struct {
	agents, proofs chan struct{}
	// commands has a place for each core, for the commands and gates that agents and command roles run; resets one for each
	// slot that is being reset.
	commands, resets *gate.Limiter

	mu sync.Mutex
	// open is closed while more is taken.
	open   chan struct{}
	paused bool
}

// NewPlaces makes places for so many agents and so many proofs.
func NewPlaces(agents, proofs int) *Places {
	p := &Places{
		agents: make(chan struct{}, agents), proofs: make(chan struct{}, proofs),
		commands: gate.NewLimiter(0), resets: gate.NewLimiter(0), open: make(chan struct{}),
	}
	close(p.open)
	return p
}

// Pause has nothing more taken until Resume; what is being worked on continues.
func (p *Places) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.paused {
		p.paused, p.open = true, make(chan struct{})
	}
}

// Resume ends a pause.
func (p *Places) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		p.paused = false
		close(p.open)
	}
}

func (p *Places) pausedNow() (paused bool, open <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused, p.open
}

// await waits until there is room and no pause.
func (p *Places) await(ctx context.Context, room chan struct{}) {
	for ctx.Err() == nil {
		one := &permit{room: room}
		one.take(ctx)
		one.leave()
		paused, open := p.pausedNow()
		if !paused {
			return
		}
		select {
		case <-open:
		case <-ctx.Done():
		}
	}
}

// admit takes room for what came off a shared queue, unless there is none or a pause.
func (p *Places) admit(one *permit) bool {
	paused, _ := p.pausedNow()
	return !paused && one.try()
}

// permit is the room that an attempt takes among those that a worker runs at once. It belongs to one goroutine at a time.
type permit struct {
	room  chan struct{}
	taken bool
}

// take waits for room. It reports false when ctx ends first.
func (s *permit) take(ctx context.Context) bool {
	if s.taken {
		return true
	}
	select {
	case s.room <- struct{}{}:
		s.taken = true
	case <-ctx.Done():
	}
	return s.taken
}

// try takes room where there is some now.
func (s *permit) try() bool {
	select {
	case s.room <- struct{}{}:
		s.taken = true
	default:
	}
	return s.taken
}

// leave gives the room back.
func (s *permit) leave() {
	if s.taken {
		s.taken = false
		<-s.room
	}
}

// rest gives the room back while an agent waits for others. What it returns takes it again, or returns when ctx has ended.
func (s *permit) rest(ctx context.Context) (resume func()) {
	s.leave()
	return func() { s.take(ctx) }
}
