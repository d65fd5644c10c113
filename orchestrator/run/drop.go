package run

import (
	"cmp"
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Drop removes landed tasks: they, and the patch that undoes their commits. It lands as every patch does, and they are dropped
// then.
type Drop struct {
	Tasks []string    `json:"tasks"`
	Patch *spec.Patch `json:"patch"`
}

// ofPerson reports whether a person wrote the plan, so that it needs no approval.
func (d *PlanData) ofPerson() bool { return d.By == ByFile || wire.IsPerson(d.By) }

// dropping is the patch source of the task that removes others. It comes with the event that adds the task, so that no agent gets
// it before; Given is nil for other plans.
func (d *PlanData) dropping(e *contextscope.Event) (*contextscope.Event, TaskData) {
	if d.Drop == nil || d.Drop.Patch == nil || len(d.Tasks) != 1 {
		return nil, TaskData{}
	}
	of := *e
	of.Task = d.Tasks[0].ID
	return &of, TaskData{
		State: TaskRunning, Reason: "a person drops landed changes", Given: d.Drop.Patch,
		Dispatch: &Dispatch{Task: of.Task, Attempt: 1, Role: spec.Person, Head: d.Drop.Patch.Base},
	}
}

// drops folds that a task has landed: those that it takes out are dropped.
func (l *Tasks) drops(t *Task, pos uint64) {
	for _, id := range t.Drops {
		if o := l.ByID[id]; o != nil && o.State == TaskLanded {
			o.Reason = "taken out by " + t.Task.ID
			l.set(o, TaskDropped, pos)
		}
	}
}

// Dropping is the newest task that takes another one out and was not given up as not needed; nil for none.
func (l *Tasks) Dropping(id string) *Task {
	for _, by := range slices.Backward(l.Order) {
		t := l.ByID[by]
		if gone := t.State == TaskSkipped || t.State == TaskCancelled; !gone && slices.Contains(t.Drops, id) {
			return t
		}
	}
	return nil
}

// LandedWith are the tasks that landed with one of a change set, else it alone, and the commits around theirs: head is the last
// one, old the one before the first, base where they were the first. ids are none where it is not landed with a commit.
func (b *Batches) LandedWith(t *Task, base string) (ids []string, old, head string) {
	old = base
	for _, l := range b.Landed {
		first := old
		for _, one := range l.Tasks {
			switch {
			case one.Task != t.Task.ID:
				old = cmp.Or(one.Commit, old)
			case t.Task.ChangeSet != "":
				return Names(l.Tasks), first, l.Head
			case one.Commit != "":
				return []string{one.Task}, old, one.Commit
			}
		}
		old = l.Head
	}
	return nil, "", ""
}
