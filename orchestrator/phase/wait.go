package phase

import (
	"divisi/internal/text"
	"divisi/orchestrator/master"
	"divisi/orchestrator/run"
)

// WaitsFor returns what only a person can bring, once nothing else is active; empty while work goes on.
func WaitsFor(s *run.State) string {
	active, _ := s.AtWork()
	switch {
	case active > 0 || s.Status != run.Planning && s.Status != run.Running:
		return ""
	case s.PlanToApprove() >= 0:
		return "approval of the plan"
	}
	if open := master.Questions(s); len(open) > 0 {
		return "an answer to " + open[0].Agent() + ": " + text.Line(open[0].Question)
	}
	return ""
}
