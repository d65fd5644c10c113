package phase

import (
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
)

// Prepared reports whether preflight is behind the run: setup went well, every gate has its baseline, and the run may go on
// with it.
func Prepared(s *run.State) bool {
	p := s.Spec.Project
	if acceptance.Unproven(s) {
		return false
	}
	if len(p.Gates) == 0 && len(p.Setup) > 0 {
		r := s.Settled(run.BaselineTask)
		return r != nil && r.Status == spec.StatusDone
	}
	return len(s.Baseline) >= len(p.Gates)
}
