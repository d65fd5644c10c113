package worker

import "context"

// permit is the room that an attempt takes among those that a worker runs at once. It belongs to one goroutine at a time.
type permit struct {
	room chan struct{}
	held bool
}

// take waits for room. It reports false when ctx ends first.
func (s *permit) take(ctx context.Context) bool {
	select {
	case s.room <- struct{}{}:
		s.held = true
	case <-ctx.Done():
	}
	return s.held
}

// leave gives the room back.
func (s *permit) leave() {
	if s.held {
		s.held = false
		<-s.room
	}
}

// rest gives the room back while an agent waits for others. What it returns takes it again, or returns when ctx has ended.
func (s *permit) rest(ctx context.Context) (resume func()) {
	s.leave()
	return func() { s.take(ctx) }
}
