package plan

import (
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// ReadFile expands the plan of a plan file, once: the expansion is an event that nothing expands again.
func ReadFile(s *run.State) []run.Action {
	if s.Status != run.Running || s.Spec.Plan == nil || len(s.Plans.All) > 0 {
		return nil
	}
	return []run.Action{run.Expand{Plan: *s.Spec.Plan, Commit: s.Spec.Base, Then: accepted}}
}

func accepted(data run.PlanData, problems []spec.Problem) []run.Action {
	if len(problems) > 0 {
		return []run.Action{run.Fail{Err: &spec.PlanError{Problems: problems}}}
	}
	data.By = run.ByFile
	return []run.Action{run.Append{Data: data}}
}
