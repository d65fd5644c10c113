package run

import "divisi/contextscope"

// Works are the works of everything that was ever on the queue, by queue id.
type Works map[string]*Work

// void notes that no result is expected of a work's newest attempt any more.
func (w Works) void(id string) {
	if work := w[id]; work != nil && work.Attempts[work.Last] != nil {
		work.Attempts[work.Last].Void = true
	}
}

func (s *State) dispatched(e *contextscope.Event, d *Dispatch) {
	if d == nil {
		return
	}
	w := s.Works[d.Task]
	if w == nil {
		w = &Work{ID: d.Task, Role: d.Role, Attempts: map[int]*Attempt{}}
		s.Works[d.Task] = w
	}
	w.Last = max(w.Last, d.Attempt)
	if a := s.Works.Attempt(d.Task, d.Attempt); a != nil {
		a.Role, a.Head, a.Epoch, a.Dispatched, a.Pos = d.Role, d.Head, s.Epoch, e.Time.UnixMilli(), e.Pos
		a.Tokens, a.Assignment, a.down = d.Tokens, d.Assignment, s.Times.Down
	}
	s.track(w)
}

// Attempt returns the view of an attempt of something that was dispatched, made on demand; nil for anything else.
func (w Works) Attempt(id string, n int) *Attempt {
	work := w[id]
	if work == nil || n < 1 {
		return nil
	}
	if work.Attempts[n] == nil {
		work.Attempts[n] = &Attempt{Attempt: n}
	}
	return work.Attempts[n]
}
