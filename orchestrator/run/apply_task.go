package run

import (
	"divisi/contextscope"
	"divisi/internal/spec"
)

func (s *State) applyTask(e *contextscope.Event, d TaskData) {
	s.Times.own(s.Times.Clock(e.Time), d.Own)
	s.dispatched(e, d.Dispatch)
	t := s.Tasks.ByID[e.Task]
	if t == nil {
		if e.Task == MasterTask && d.Dispatch == nil {
			s.Master.apply(d)
		}
		return
	}
	t.Reason, t.Forgotten = d.Reason, d.Forgotten
	t.Part, t.Suspected = 0, Suspected{}
	if d.Doubt != nil {
		t.doubt(*d.Doubt, e.Pos)
	} else {
		s.applyDecided(e, d.Decision, nil)
	}
	if d.State == TaskDone {
		s.Times.Moved = s.Times.Clock(e.Time)
	}
	delete(s.Later, t.Task.ID)
	if !d.Again && d.State != TaskRunning {
		s.Templates.back(t)
	}
	lost := t.GivenUp()
	if s.set(t, d.State, e.Pos); lost && !t.Ended() {
		s.Master.Done = false // a person opened it again: the master leads on
	}
	switch {
	case d.Revision != nil:
		if d.State == TaskPending {
			s.Works.void(t.Task.ID, t.Task.ID+VerifySuffix, t.Task.ID+RedSuffix)
			t.revise(d.Revision, &s.Spec)
			s.Templates.forgive(t)
		}
	case d.Red != nil:
		t.Red = d.Red
	case d.State == TaskAccepted:
		t.Unprovable = s.Proofs.cannotProve(t)
		t.Queued = e.Time
		if set := s.Tasks.Set(t); set == nil || set.Members[0] == t {
			s.Tasks.Queued++
		}
	case d.Role != "":
		t.handOver(s.Requests.Transfer(t), d.Role, &s.Spec)
	case d.State == TaskCancelled || d.State == TaskSkipped:
		s.Works.void(e.Task, e.Task+VerifySuffix, e.Task+RedSuffix)
		if d.State == TaskSkipped {
			s.Tasks.leave(t)
		}
	case d.State == TaskVerifying && d.Dispatch != nil:
		t.Verify = d.Dispatch.Attempt
	case d.State == TaskRunning && d.Dispatch != nil:
		t.Attempt, t.Choice = d.Dispatch.Attempt, t.Next
		s.Tasks.begin(t)
		if d.Given != nil {
			s.applyGiven(e, t, d.Given)
		}
	case d.Head != "":
		t.restart(d)
	}
	if d.Fault != nil {
		s.applyFault(e, t, d)
	}
}

// applyFault notes that an attempt failed: the task waits, or has one attempt less.
func (s *State) applyFault(e *contextscope.Event, t *Task, d TaskData) {
	if d.Again {
		s.Later[t.Task.ID], t.Waited = e.Time, true
		s.Templates.wait(t, *d.Fault)
		return
	}
	// The failure of a command before another executor of its chain is no sign of a wrong brief: the next one has what the
	// command cannot do.
	if last := t.failed(d, len(s.Spec.Roles[t.Task.Role].Chain)); last && !s.Works.ByPerson(t) {
		s.Templates.failed(t)
	}
}

// failed notes a fault, and reports whether no other executor of a chain of a length comes after it.
func (t *Task) failed(d TaskData, chain int) (last bool) {
	a := faultOf(t, *d.Fault)
	a.Forgotten = d.Forgotten
	t.Faults = append(t.Faults, a)
	if d.Choice != nil {
		t.Next = *d.Choice
	}
	return t.Choice.At >= chain
}

func faultOf(t *Task, f spec.Fault) AttemptFault {
	a := AttemptFault{Attempt: t.Attempt, Choice: t.Choice, Fault: f}
	if t.Result != nil && t.Result.Attempt == t.Attempt {
		a.Patch, a.Summary = t.Result.Patch, t.Result.Handoff.Summary
	}
	return a
}
