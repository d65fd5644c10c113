package run

import "divisi/contextscope"

// void notes that no result is expected of a work's newest attempt any more.
func (s *State) void(id string) {
	if w := s.Works[id]; w != nil && w.Attempts[w.Last] != nil {
		w.Attempts[w.Last].Void = true
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
	if a := s.Attempt(d.Task, d.Attempt); a != nil {
		a.Role, a.Head, a.Epoch, a.Dispatched, a.Pos = d.Role, d.Head, s.Epoch, e.Time.UnixMilli(), e.Pos
		a.Tokens, a.Assignment, a.down = d.Tokens, d.Assignment, s.Times.Down
	}
	s.track(w)
}

// Attempt returns the view of an attempt of something that was dispatched, made on demand; nil for anything else.
func (s *State) Attempt(id string, n int) *Attempt {
	w := s.Works[id]
	if w == nil || n < 1 {
		return nil
	}
	if w.Attempts[n] == nil {
		w.Attempts[n] = &Attempt{Attempt: n}
	}
	return w.Attempts[n]
}
