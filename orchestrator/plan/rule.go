package plan

import (
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Expand has a plan prepared over the tree of a commit; Then proposes what follows. Problems are for the plan's author.
type Expand struct {
	run.Proposal

	Plan   spec.Plan
	Commit string
	Then   func(data run.PlanData, problems []spec.Problem) []run.Action
}

// ReadFile expands the plan of a plan file, once: the expansion is an event that nothing expands again.
func ReadFile(s *run.State) []run.Action {
	if s.Status != run.Running || s.Spec.Plan == nil || len(s.Plans.All) > 0 {
		return nil
	}
	return []run.Action{Expand{Plan: *s.Spec.Plan, Commit: s.Spec.Base, Then: accepted}}
}

func accepted(data run.PlanData, problems []spec.Problem) []run.Action {
	if len(problems) > 0 {
		return []run.Action{run.Fail{Err: &Error{Problems: problems}}}
	}
	data.By = run.ByFile
	return []run.Action{run.Append{Data: data}}
}
