package master

import (
	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Wake assigns the master: at the start, after a failure of its own, when every task has ended or a passage halts, when an
// agent asks it, and when a person writes to it. All reasons since its last turn come as one message.
func Wake(s *run.State) []run.Action {
	if s.Spec.Plan != nil || s.Status == run.Preflight || s.Master.Done || s.Master.GaveUp() != "" {
		return nil
	}
	next := 1
	if w := s.Works[run.MasterTask]; w != nil {
		if w.Outstanding() || s.Master.Woken < w.Last {
			return nil
		}
		next = w.Last + 1
	}
	if !s.Quiet(&s.Tasks) && !calls(&s.Agenda, &s.Agents) && (!s.Halts() || s.Stuck()) {
		return nil
	}
	return []run.Action{run.AssignTask(run.MasterTask, run.TaskRunning, run.Dispatch{
		Task: run.MasterTask, Attempt: next, Role: spec.RoleMaster, Head: s.Tip(),
	})}
}

// Settle decides about the result of the master's newest attempt: a plan, a wait, the end, or a failure.
func Settle(s *run.State) []run.Action {
	w := s.Works[run.MasterTask]
	if w == nil || s.Master.Woken >= w.Last {
		return nil
	}
	r := s.Works.Settled(run.MasterTask)
	switch {
	case r == nil:
		return nil
	case r.Status != spec.StatusDone:
		return failed(&s.Spec, &s.Agents, run.FaultOf(r))
	case r.Plan != nil:
		then := func(d run.PlanData, problems []spec.Problem) []run.Action {
			return planned(&s.Agenda, &s.Agents, r.Attempt, d, problems)
		}
		return []run.Action{run.Expand{Plan: *r.Plan, Commit: s.Tip(), Then: then}}
	case s.Quiet(&s.Tasks) && !newsFor(&s.Agenda, &s.Agents, w.Last).any():
		return set(run.TaskData{State: run.TaskDone, Reason: r.Handoff.Summary})
	default:
		return set(run.TaskData{State: run.TaskPending, Reason: "waits for its tasks"})
	}
}

func set(d run.TaskData) []run.Action { return []run.Action{run.SetTask(run.MasterTask, d)} }

func failed(order *run.Spec, agents *run.Agents, f spec.Fault) []run.Action {
	again := run.SetTask(run.MasterTask, run.TaskData{State: run.TaskPending, Reason: f.Message, Again: true})
	if actions, ok := recovery.Pause(order, agents, run.MasterTask, f, again); ok {
		return actions
	}
	return set(run.TaskData{State: run.TaskPending, Reason: f.Message, Fault: &f})
}

// planned makes the tasks of a dispatch call the run's. The tool has checked the plan already; problems that it could not see,
// such as a task that was added in between, go back to the master.
func planned(agenda *run.Agenda, agents *run.Agents, attempt int, d run.PlanData, problems []spec.Problem) []run.Action {
	if len(problems) > 0 {
		e := &spec.PlanError{Problems: problems}
		return failed(&agenda.Spec, agents, spec.Fault{Class: "plan", Message: "the plan is invalid", Detail: e.Error()})
	}
	d.By = wire.AgentID(run.MasterTask, attempt)
	actions := []run.Action{run.Append{Data: d}}
	if agenda.Status == run.Planning && agenda.Spec.Writes(d) {
		actions = append(actions, run.SetRun(run.Data{State: run.Running}))
	}
	return actions
}
