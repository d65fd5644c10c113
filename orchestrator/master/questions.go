package master

import (
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Questions are the open ones that only a person can answer, oldest first.
func Questions(s *run.State) []*run.Request {
	var out []*run.Request
	for _, q := range s.OpenRequests() {
		if q.Kind == wire.RequestAsk && (q.Of == run.MasterTask || !s.ForMaster(q.Pos)) {
			out = append(out, q)
		}
	}
	return out
}
