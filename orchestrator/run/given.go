package run

import (
	"divisi/contextscope"
	"divisi/internal/spec"
)

// ByPerson reports whether a person made the newest attempt of a task.
func (w Works) ByPerson(t *Task) bool {
	work := w[t.Task.ID]
	return work != nil && work.Attempts[t.Attempt] != nil && work.Attempts[t.Attempt].Given
}

// applyGiven folds the patch of a person as the result of an attempt, which has just been dispatched.
func (s *State) applyGiven(e *contextscope.Event, t *Task, p *spec.Patch) {
	a := s.Works.Attempt(t.Task.ID, t.Attempt)
	a.Given = true
	given := *e
	given.Attempt = t.Attempt
	s.applyResult(&given, a, spec.Result{
		Task: t.Task.ID, Attempt: t.Attempt, Status: spec.StatusDone, Patch: p,
		Handoff: spec.Handoff{Summary: "A person changed it by hand."},
	})
}
