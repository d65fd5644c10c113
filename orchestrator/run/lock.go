package run

// Lock is the write set of a task that no other may write meanwhile.
type Lock struct {
	Task  string
	Files []string
}

// Locked lists the write sets of every task between its dispatch and its end, retries included: a task that is repeated keeps its
// write set, so that no other task changes it before the next attempt. Those of a change set are locked from its first dispatch
// on.
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
	return t.Attempt > 0 || c != nil && c.Begun
}
