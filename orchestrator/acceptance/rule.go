package acceptance

import (
	"fmt"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// Import has the patch of a task's newest attempt imported into the mirror, strictly, and its tests compared when Judge is set.
// Then proposes what follows: refused is the fault of a patch that cannot be imported, weakened that of one that weakens tests.
type Import struct {
	run.Proposal

	Task  *run.Task
	Judge bool
	Then  func(refused, weakened *spec.Fault) []run.Action
}

// Settle decides about the first task with a result that has had no consequence yet.
func Settle(s *run.State) []run.Action {
	for t := range s.In(run.TaskRunning) {
		if t.Result != nil && t.Result.Attempt == t.Attempt {
			return settle(s, t)
		}
	}
	return nil
}

func settle(s *run.State, t *run.Task) []run.Action {
	r, id := t.Result, t.Task.ID
	transfer := s.Transfer(t)
	switch {
	case r.Status == spec.StatusDone && r.HandedOver && transfer != nil:
		return handOver(s, t, transfer)
	case r.Status == spec.StatusDone && r.Patch == nil:
		return []run.Action{run.SetTask(id, run.TaskData{State: run.TaskDone})}
	case r.Status == spec.StatusDone:
		return []run.Action{Import{Task: t, Judge: true, Then: func(refused, weakened *spec.Fault) []run.Action {
			switch {
			case refused != nil:
				return schedule.Failed(s, t, *refused)
			case weakened != nil:
				return schedule.Park(s, t, weakened.Message, weakened)
			}
			return []run.Action{verify(s, t)}
		}}}
	case r.Status == spec.StatusCancelled:
		return []run.Action{run.SetTask(id, run.TaskData{State: run.TaskCancelled, Reason: run.FaultOf(r).Message})}
	default:
		return schedule.Failed(s, t, run.FaultOf(r))
	}
}

// handOver puts back a task that its agent transferred to another role: it is no failure and costs no attempt.
func handOver(s *run.State, t *run.Task, q *run.Request) []run.Action {
	done := []run.Action{run.SetTask(t.Task.ID, run.TaskData{
		State: run.TaskPending, Role: q.Role, Reason: fmt.Sprintf("handed over to %s: %s", q.Role, text.Line(q.Brief)),
	})}
	if t.Result.Patch == nil {
		return done
	}
	return []run.Action{Import{Task: t, Then: func(refused, _ *spec.Fault) []run.Action {
		if refused != nil {
			return schedule.Failed(s, t, *refused)
		}
		return done
	}}}
}

// verify assigns the task's tester. A patch whose tree is already proven needs none.
func verify(s *run.State, t *run.Task) run.Action {
	id := t.Task.ID
	judges := s.Spec.Roles[t.Task.Verify].Executor != ""
	if !judges && s.IsProven(t.Result.Patch.Tree, s.GatesOf(t.Task)) {
		return run.SetTask(id, run.TaskData{State: TestedAs(s)})
	}
	return run.AssignTask(id, run.TaskVerifying, run.Dispatch{
		Task: id + run.VerifySuffix, Attempt: t.Verify + 1, Role: t.Task.Verify, Head: t.Result.Patch.Commit,
	})
}

// SettleVerify decides about the first verdict of a tester that has had no consequence yet.
func SettleVerify(s *run.State) []run.Action {
	for t := range s.In(run.TaskVerifying) {
		if t.VerifyR != nil && t.VerifyR.Attempt == t.Verify {
			return judge(s, t)
		}
	}
	return nil
}

func judge(s *run.State, t *run.Task) []run.Action {
	r := t.VerifyR
	if !ProvedOn(t.Result.Patch.Tree, r.Receipts) {
		other := spec.Fault{Class: wire.FaultInternal, Message: "the gates ran on another tree than the patch's"}
		return testerFailed(s, t, other)
	}
	if r.Status == spec.StatusDone {
		return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: TestedAs(s)})}
	}
	f := run.FaultOf(r)
	if actions, ok := schedule.Pause(s, t.Task.ID+run.VerifySuffix, f, verify(s, t)); ok {
		return actions
	}
	if len(r.Receipts) == 0 && f.Class != wire.FaultGate {
		return testerFailed(s, t, f)
	}
	f.Signatures = NewSignatures(r.Receipts, s.Baseline)
	return schedule.Failed(s, t, f)
}

// testerFailed repeats a tester that proved nothing about the patch.
func testerFailed(s *run.State, t *run.Task, f spec.Fault) []run.Action {
	tries := 0
	for _, a := range s.Works[t.Task.ID+run.VerifySuffix].Attempts {
		if a.Result != nil && a.Head == t.Result.Patch.Commit {
			tries++
		}
	}
	if tries >= schedule.MaxGateTries || schedule.Hopeless(f) {
		return schedule.Park(s, t, "its tester could not be run: "+f.Message, &f)
	}
	return []run.Action{verify(s, t)}
}
