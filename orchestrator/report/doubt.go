package report

import (
	"fmt"

	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// doubts lists the patches that were held: one line each, the newest doubt of a task for all of it.
func doubts(s *run.State) (lines []string) {
	for _, id := range s.Tasks.Order {
		t := s.Tasks.ByID[id]
		if len(t.Doubts) == 0 {
			continue
		}
		d := t.Doubts[len(t.Doubts)-1]
		more := ""
		if n := len(d.Evidence) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s (%s)", wire.AgentID(id, d.Attempt), d.Evidence[0], more, d.Decision(t.State)))
	}
	return lines
}
