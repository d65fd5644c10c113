package run

import "slices"

// Lock is the write set of a task that no other may write meanwhile.
type Lock struct {
	Task  string
	Files []string
}

// Locked lists the write sets of every task between its dispatch and its end, retries included: a task that is repeated keeps its
// write set, so that no other task changes it before the next attempt, but where it waits for one that may have to. Those of a
// change set are locked from its first dispatch on.
func (l *Tasks) Locked() []Lock {
	var locked []Lock
	for t := range l.Open() {
		if len(t.Task.Files) > 0 && l.Locks(t) {
			locked = append(locked, Lock{t.Task.ID, t.Task.Files})
		}
	}
	return locked
}

// Locks reports whether a task that has not ended locks its write set.
func (l *Tasks) Locks(t *Task) bool {
	c := l.Set(t)
	return c != nil && c.Begun || t.Attempt > 0 && !l.waits(t)
}

// waits reports whether a task has to wait for another one before its next attempt.
func (l *Tasks) waits(t *Task) bool {
	return t.State == TaskPending && slices.ContainsFunc(t.After, func(ref string) bool {
		met, _, _ := l.Depends(ref)
		return !met
	})
}
