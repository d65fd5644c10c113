package run

import "divisi/contextscope"

// carry begins the tasks of a plan that have a patch of another run, in the event that adds them: no agent gets one before.
func (s *State) carry(e *contextscope.Event, d PlanData) {
	for i := range d.Tasks {
		t := &d.Tasks[i]
		p := s.Spec.Carried[t.ID]
		if p == nil {
			continue
		}
		of := *e
		of.Task = t.ID
		s.applyTask(&of, TaskData{
			State: TaskRunning, Reason: "it has landed in another run", Given: p,
			Dispatch: &Dispatch{Task: t.ID, Attempt: 1, Role: t.Role, Head: p.Base},
		})
	}
}
