package master

import (
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// ForMaster reports whether a question is the master's to answer. What it leaves open when its turn has ended is a person's.
func ForMaster(s *run.State, q *run.Request) bool {
	if s.Spec.Plan != nil || q.Of == run.MasterTask || s.MasterDone || s.MasterGaveUp() != "" {
		return false
	}
	first := 0 // the first turn that begins with the question
	if w := s.Works[run.MasterTask]; w != nil {
		for n := w.Last; n > 0 && s.CalledAt(n) > q.Pos; n-- {
			first = n
		}
	}
	return first == 0 || s.Woken < first || s.MasterAgain || s.MasterFails > 0
}

// Questions are the open ones that only a person can answer, oldest first.
func Questions(s *run.State) []*run.Request {
	var out []*run.Request
	for _, q := range s.OpenRequests() {
		if q.Kind == wire.RequestAsk && !ForMaster(s, q) {
			out = append(out, q)
		}
	}
	return out
}
