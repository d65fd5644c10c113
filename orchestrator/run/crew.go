package run

import (
	"maps"
	"time"

	"divisi/contextscope"
	"divisi/subagents/wire"
)

// Crew are the workers elsewhere that a run counts on, by name; nil where the run's process works itself.
type Crew map[string]wire.Places

// Unserved is why none of the crew serves a role, and where in the log that began.
type Unserved struct {
	Why string `json:"why"`
	Pos uint64 `json:"-"`
}

// unserved takes in what has changed. A role whose reason alone is another one keeps its decision.
func unserved(had, now map[string]Unserved, pos uint64) map[string]Unserved {
	out := make(map[string]Unserved, len(now))
	for role, u := range now {
		if u.Pos = pos; had[role].Pos > 0 {
			u.Pos = had[role].Pos
		}
		out[role] = u
	}
	return out
}

// Room is how many agents may work at once, at most so many: all places of the crew.
func (c Crew) Room(most int) int {
	if c == nil {
		return max(1, most)
	}
	places := 0
	for _, p := range c {
		places += p.Agents
	}
	return max(1, min(most, places))
}

// Permits is how many batches may be tested at once: what all of the crew can, or what the machine of the run has.
func (c Crew) Permits(own int) int {
	if c == nil {
		return max(1, own)
	}
	permits := 0
	for _, p := range c {
		permits += p.Gates
	}
	return max(1, permits)
}

// applyCrew takes in who has joined and left, and which roles are not served. Each conductor begins with none.
func (s *Branch) applyCrew(e *contextscope.Event, d Data) {
	if d.Epoch > 0 {
		clear(s.Joined)
	}
	if d.Crew != nil || d.Epoch > 0 {
		s.Crew, s.Away = d.Crew, d.Away
		s.joined(e.Time)
	}
	if d.Unserved != nil || d.Epoch > 0 {
		s.Unserved = unserved(s.Unserved, d.Unserved, e.Pos)
	}
}

// joined notes which workers of the crew have come, and which have gone.
func (s *Branch) joined(at time.Time) {
	if s.Crew == nil {
		return
	}
	maps.DeleteFunc(s.Joined, func(name string, _ time.Time) bool { _, there := s.Crew[name]; return !there })
	for name := range s.Crew {
		s.came(name, at)
	}
}

// came notes that a worker is there.
func (s *Branch) came(worker string, at time.Time) {
	if s.Joined[worker].IsZero() {
		s.Joined[worker] = at
	}
}
