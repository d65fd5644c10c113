package run

import (
	"cmp"
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// ChangeSet is some tasks that are tested as one and land as one, or none of them does.
type ChangeSet struct {
	Name string
	// Members are in plan order.
	Members []*Task
	// Begun reports that a task of it was dispatched: from then on all of their write sets are held.
	Begun bool
	// Lost is the first task of it that was given up; with it all are.
	Lost *Task
	// outstanding counts the tasks that have neither ended nor handed in their result.
	outstanding int
}

// Set returns the change set of a task; nil for none.
func (l *Tasks) Set(t *Task) *ChangeSet { return l.Sets[t.Task.ChangeSet] }

// Reviewing returns the tasks that a person sees together with one: itself, and those of its change set that are held for review.
func (l *Tasks) Reviewing(t *Task) []*Task {
	set := l.Set(t)
	if set == nil {
		return []*Task{t}
	}
	return slices.DeleteFunc(slices.Clone(set.Members), func(o *Task) bool { return o.Doubt() == nil || !o.Doubt().Review })
}

// Complete reports whether all tasks of the set that have not ended wait for the queue.
func (c *ChangeSet) Complete() bool { return c.outstanding == 0 }

// HasBegun reports whether a task of the set was dispatched.
func (c *ChangeSet) HasBegun() bool { return c != nil && c.Begun }

// GivenUp reports whether the set was given up.
func (c *ChangeSet) GivenUp() bool { return c != nil && c.Lost != nil }

// Closed returns why no task can be added to the set; "" where one can.
func (c *ChangeSet) Closed() string {
	switch {
	case c == nil, !c.Members[0].Ended() && c.Lost == nil && c.Members[0].State != TaskLanding, c.Revives():
		return ""
	case c.Lost != nil:
		return "it was parked, since " + c.Lost.Task.ID + " is " + string(c.Lost.State) + ": " + c.Lost.Reason
	case c.Members[0].State == TaskLanding:
		return "it is being tested"
	}
	return "it has landed"
}

// Revives reports whether the set was parked as a whole, for what is missing in it, and no task of it for a fault of its own: a
// task that is added to it opens it.
func (c *ChangeSet) Revives() bool {
	return c.GivenUp() && !slices.ContainsFunc(c.Members, func(t *Task) bool {
		return t.State != TaskParked || !t.HandedIn() || t.Undecided() != nil
	})
}

// Red is a run of the gates on the tests of a task alone, without the rest of its change set.
type Red struct {
	// Of is the task's attempt, Run that of the work <task>--red; 0 where the tree was tested before.
	Of  int `json:"of"`
	Run int `json:"run,omitempty"`
	// Tree is the tested tree, on the integration commit Since. It is empty where that is to be done once more, for the time
	// Again: its set passed in no environment of In.
	Tree  string `json:"tree"`
	Since string `json:"since"`
	Again int    `json:"again,omitempty"`
	// Failed are the new failures in what the task wrote, which prove its tests; empty while the run is outstanding.
	Failed []string `json:"failed,omitempty"`
	// In are the environments in which they failed so: the set lands with proofs of one of these.
	In []string `json:"in,omitempty"`
}

// ProvedRed reports whether the tests of the newest attempt have failed without the change, or with mutants of the code.
func (t *Task) ProvedRed() bool {
	return t.Red != nil && t.Red.Of == t.Attempt && len(t.Red.Failed) > 0
}

// HandedIn reports whether the newest attempt of a task ended well, nothing was found against it, and the task was not revised
// since.
func (t *Task) HandedIn() bool {
	r, failed := t.Result, false
	if n := len(t.Faults); n > 0 {
		failed = t.Faults[n-1].Attempt == t.Attempt && !t.Faults[n-1].Elsewhere()
	}
	return !failed && t.Revised != t.Attempt && r != nil && r.Attempt == t.Attempt && r.Status == spec.StatusDone && !r.HandedOver
}

// Undecided returns the doubt about the newest patch of a task that was given up before a decision; nil for none. What only a
// review waited for is no doubt.
func (t *Task) Undecided() *Doubt {
	if n := len(t.Doubts); n > 0 && t.Doubts[n-1].Attempt == t.Attempt && t.Doubts[n-1].Answer == nil && !t.Doubts[n-1].Review {
		return &t.Doubts[n-1]
	}
	return nil
}

// Forgotten are failures in files that no task may change, such as a caller that the plan has not.
type Forgotten struct {
	Findings []spec.Finding `json:"findings"`
	// Only reports that nothing else failed: what was handed in may be right. Head is then the commit that failed, which a task
	// for these files starts from; empty where it has more than the change set, or the task alone.
	Only bool   `json:"only,omitempty"`
	Head string `json:"head,omitempty"`
}

// Files are the files of the findings, sorted.
func (f *Forgotten) Files() (files []string) {
	for _, found := range f.Findings {
		files = append(files, found.File)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Addable are the files that a task can be added for: none that is protected, or that no task can name.
func (f *Forgotten) Addable(protected []string) []string {
	may := spec.WriteSet{Protected: protected}
	return slices.DeleteFunc(f.Files(), func(file string) bool { return may.RefuseNew(file) != "" })
}

// enter has a parked task join a change set. What it handed in waits for the set.
func (l *Tasks) enter(t *Task, set string) {
	if t.State != TaskParked || t.Task.ChangeSet != "" {
		return
	}
	l.remove(t)
	t.Task.ChangeSet, t.Reason, t.Forgotten, t.Fresh = set, "", nil, len(t.Faults)
	l.join(t)
	l.add(t)
	if t.HandedIn() && t.Undecided() == nil {
		l.set(t, TaskAccepted, 0)
	}
}

// join adds a planned task to its change set, before it is counted. Where that was parked, its tasks wait again: the new one
// has what was missing.
func (l *Tasks) join(t *Task) {
	name := t.Task.ChangeSet
	if name == "" {
		return
	}
	c := l.Sets[name]
	if c == nil {
		c = &ChangeSet{Name: name}
		l.Sets[name] = c
	}
	if c.Revives() {
		for _, m := range c.Members {
			m.Reason, m.Forgotten = "", nil
			l.set(m, TaskAccepted, 0)
		}
	}
	c.Members = append(c.Members, t)
}

// leave removes a task that ended from its change set: the others land without it.
func (l *Tasks) leave(t *Task) {
	c := l.Set(t)
	if c == nil {
		return
	}
	same := func(other *Task) bool { return other == t }
	if c.Members = slices.DeleteFunc(c.Members, same); c.Lost == t {
		c.Lost = l.lost(func(o *Task) bool { return o != t && o.Task.ChangeSet == c.Name })
	}
	if len(c.Members) == 0 {
		delete(l.Sets, c.Name)
	}
}

// begin notes that a task of a change set was dispatched.
func (l *Tasks) begin(t *Task) {
	if c := l.Set(t); c != nil {
		c.Begun = true
	}
}

// restart notes on which commit the next attempts of a task of a change set begin, and whether its work so far is in there.
func (t *Task) restart(d TaskData) {
	kept := t.Patches()
	t.Head, t.Kept = d.Head, nil
	if d.Kept {
		t.Kept = kept
	}
}

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
