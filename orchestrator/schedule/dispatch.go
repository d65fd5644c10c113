package schedule

import (
	"cmp"

	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// Dispatch parks the tasks that can never start, and assigns those that can start now.
func Dispatch(s *run.State) []run.Action {
	if s.Status != run.Running && s.Status != run.Planning {
		return nil
	}
	if actions := expand(s); actions != nil {
		return actions
	}
	var actions []run.Action
	ready, unreachable := Ready(s)
	for t := range s.Tasks.In(run.TaskPending) {
		if why, ok := unreachable[t.Task.ID]; ok {
			actions = append(actions, recovery.Park(&s.Spec, t, why, nil)...)
		}
	}
	for _, id := range ready {
		t := s.Tasks.ByID[id]
		if why := UsedUp(&s.Agents, t); why != "" {
			actions = append(actions, recovery.Park(&s.Spec, t, why, nil)...)
			continue
		}
		actions = append(actions, run.AssignTask(id, run.TaskRunning, run.Dispatch{
			Task: id, Attempt: t.Attempt + 1, Role: t.Task.Role, Head: base(&s.Branch, t), Tokens: Allowance(&s.Agents, t),
			Uses: t.Next.String(), Group: group(&s.Spec, &s.Requests, t),
		}))
	}
	return actions
}

// expand expands the first template whose time has come, on the integration head. One whose rule cannot be applied is parked.
func expand(s *run.State) []run.Action {
	for t := range s.Tasks.Templates() {
		switch {
		case t.State != run.TaskPending || !approved(&s.Agenda, t) || dependencies(&s.Agenda, &s.Proofs, t).by != nothing:
		case !t.Task.ByFindings():
			return []run.Action{expandOn(s, t, run.Expand{})}
		default:
			if actions := nextRound(s, t); actions != nil {
				return actions
			}
		}
	}
	return nil
}

// base is the commit that the next attempt of a task starts from: the integration head, its merged change set, or the base of the
// work that it continues.
func base(branch *run.Branch, t *run.Task) string {
	if h, untried := t.Handover(); untried && h.Patch != nil {
		return h.Patch.Base
	}
	return cmp.Or(t.Head, branch.Tip())
}
