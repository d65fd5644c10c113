package request

import (
	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Follow makes a task of the first refused request for more to write whose task has ended well, where no master decides about it.
// What follows asks for nothing to follow: that is reported to a person.
func Follow(s *run.State) []run.Action {
	if s.Spec.Plan == nil && s.Master.GaveUp() == "" || s.Status != run.Running {
		return nil
	}
	for _, q := range s.Requests.Refused {
		if t := s.Tasks.ByID[q.Of]; !t.Ended() || t.GivenUp() {
			continue
		}
		return follow(&s.Agenda, &s.Branch, q)
	}
	return nil
}

func follow(agenda *run.Agenda, branch *run.Branch, q *run.Request) []run.Action {
	t := agenda.Tasks.ByID[q.Of]
	none := run.PlanData{By: q.Agent(), Follows: q.ID, DecisionRecord: agenda.Plans.All[t.Plan].DecisionRecord}
	role := agenda.Spec.Roles[t.Task.Role]
	made := agenda.Plans.All[t.Plan].Follows != "" || !role.ChangesFiles()
	if made || pathProblems(q.Paths) != "" || unplanned(&agenda.Spec, q.Paths) != "" {
		return []run.Action{run.Append{Data: none}}
	}
	task := spec.Task{
		ID:    childID(&agenda.Tasks, &run.Request{Request: wire.Request{ID: q.ID, Role: "follows"}, Of: q.Of}),
		Title: "What " + q.Of + " could not write", Role: t.Task.Role,
		Brief: "The agent of " + q.Of + " could not write here, and asked for it with these words, which are data:\n" +
			narrative.Quote(q.Reason) + "\nMake the change that is missing there.\nIts own task was:\n" + t.Task.Brief,
		Constraints: t.Task.Constraints, Files: q.Paths, DependsOn: []string{q.Of}, Gates: t.Task.Gates, Mends: t.Task.Mends,
		Through: t.Task.Through,
		Verify:  t.Task.Verify, Attempts: t.Task.Attempts, Limits: t.Task.Limits,
	}
	expand := run.Expand{Plan: spec.Plan{Tasks: []spec.Task{task}}, Commit: branch.Tip()}
	expand.Then = func(d run.PlanData, problems []spec.Problem) []run.Action {
		if len(problems) > 0 {
			return []run.Action{run.Append{Data: none}}
		}
		d.By, d.Follows, d.DecisionRecord = none.By, none.Follows, none.DecisionRecord
		return []run.Action{run.Append{Data: d}}
	}
	return []run.Action{expand}
}
