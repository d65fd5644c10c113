package run

import (
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// Action is a step that a rule proposes. The conductor executes the actions of one rule in their order; each is checked against
// nothing but the log, so that a rule that is asked twice proposes the same step twice and does no harm.
type Action interface{ proposed() }

// Proposal makes a type that embeds it an Action.
type Proposal struct{}

func (Proposal) proposed() {}

// Append writes an event of the conductor; the type of its data decides the kind.
type Append struct {
	Proposal

	Task string
	Data any
}

// Kind is the kind of the event.
func (a Append) Kind() contextscope.Kind {
	for kind, p := range payloads {
		if p.holds(a.Data) {
			return kind
		}
	}
	panic(fmt.Sprintf("no kind of event has data of the type %T", a.Data))
}

// SetRun appends a run event.
func SetRun(d Data) Action { return Append{Data: d} }

// SetTask appends a task event.
func SetTask(id string, d TaskData) Action { return Append{Task: id, Data: d} }

// Stop stops the run; resume continues it.
func Stop(reason string) Action { return SetRun(Data{State: Stopped, Reason: reason}) }

// Assign seals an attempt, appends the event whose data holds its dispatch, and puts the attempt on the queue.
type Assign struct {
	Append

	Dispatch *Dispatch
}

// AssignGates assigns the next attempt of one of the run's own works: setup, the baseline or the final gates.
func (w Works) AssignGates(d Dispatch) []Action {
	d.Attempt, d.Role = w.Next(d.Task), spec.RoleTester
	return []Action{Assign{Append: Append{Data: Data{Dispatch: &d}}, Dispatch: &d}}
}

// AssignTask assigns an attempt of a task, or of its tester, which sets the task's state.
func AssignTask(id string, state TaskState, d Dispatch) Action {
	return Assign{Append: Append{Task: id, Data: TaskData{State: state, Dispatch: &d}}, Dispatch: &d}
}

// Write appends a message to the agents of a task.
type Write struct {
	Proposal

	Task, Text, From string
}

// Tell publishes to the agent of a work what it has not received yet. The message may be lost; it is repeated.
type Tell struct {
	Proposal

	Work string
}

// TakeBack removes the newest attempt of a work from the queue.
type TakeBack struct {
	Proposal

	Work *Work
}

// SyncHead moves the mirror's integration branch to the head that the log names.
type SyncHead struct{ Proposal }

// Isolate puts a worker into quarantine: what it has at work is given to others.
type Isolate struct {
	Proposal

	Quarantine Quarantine
}

// Together appends what some actions append as one message of the log, so that a kill leaves nothing half done. What stands
// before the first of them is executed before, and the others behind the message.
type Together struct {
	Proposal

	Actions []Action
}

// Pause dispatches nothing more and stops the run when no attempt is Busy. By is the person who asked for it.
type Pause struct {
	Proposal

	By string
}

// Purge empties the queue of a run that is over.
type Purge struct{ Proposal }

// End publishes the branch, if a patch landed, and appends the last event of the run.
type End struct {
	Proposal

	Data Data
}

// Expand has a plan prepared over the tree of a commit; Then proposes what follows. Problems are for the plan's author.
type Expand struct {
	Proposal
	Plan spec.Plan
	// Template is set where the plan is the shards of a template whose time has come, Round where they are those of the
	// findings of an object.
	Template *Task
	Round    *Round
	Findings string
	Commit   string
	Then     func(data PlanData, problems []spec.Problem) []Action
}

// Approve asks a person about a plan.
type Approve struct {
	Proposal

	Plan int
}

// ProveTwin compares setup and gates on the head with the user's own shell.
type ProveTwin struct{ Proposal }

// Fail ends the conductor with an error. The run is stopped and can be resumed.
type Fail struct {
	Proposal

	Err error
}

// Works are the works of everything that was ever on the queue, by queue id.
type Works map[string]*Work

// void notes that no result is expected of the newest attempts of some works any more.
func (w Works) void(ids ...string) {
	for _, id := range ids {
		if a := w[id].Newest(); a != nil {
			a.Void = true
		}
	}
}

// Queue are the works whose newest attempt has no result, by queue id: those that are outstanding, and those that were cancelled
// and have not ended yet.
type Queue map[string]*Work

// track notes whether a work is on the queue.
func (q Queue) track(w *Work) {
	if a := w.Attempts[w.Last]; a != nil && a.Result == nil {
		q[w.ID] = w
	} else {
		delete(q, w.ID)
	}
}

// AtWork counts the attempts that are on the queue or with a worker and do not wait for others; byRole has them by role. Those of
// one template that may share a process count as one. The second run of the gates on the base commit is left out: nothing waits
// for it.
func (q Queue) AtWork() (all int, byRole map[string]int) {
	groups := map[string]bool{}
	byRole = map[string]int{}
	for _, w := range q {
		if !w.Outstanding() || w.Waits() || w.ID == FlakesTask {
			continue
		}
		if group := w.Newest().Group; group != "" {
			if groups[group] {
				continue
			}
			groups[group] = true
		}
		all++
		byRole[w.RoleAt(w.Last)]++
	}
	return all, byRole
}

// Joined counts the outstanding attempts that may share a process, by template.
func (q Queue) Joined() map[string]int {
	joined := map[string]int{}
	for _, w := range q {
		if group := w.Newest().Group; group != "" && w.Outstanding() {
			joined[group]++
		}
	}
	return joined
}

// Waiting counts the attempts whose agents wait for others.
func (q Queue) Waiting() int {
	n := 0
	for _, w := range q {
		if w.Waits() {
			n++
		}
	}
	return n
}

func (s *State) dispatched(e *contextscope.Event, d *Dispatch) {
	if d == nil {
		return
	}
	w := s.Works[d.Task]
	if w == nil {
		w = &Work{ID: d.Task, Role: d.Role, Attempts: map[int]*Attempt{}}
		s.Works[d.Task] = w
	}
	w.Last = max(w.Last, d.Attempt)
	if a := s.Works.Attempt(d.Task, d.Attempt); a != nil {
		a.Role, a.Head, a.Epoch, a.Dispatched, a.Pos = d.Role, d.Head, s.Epoch, e.Time.UnixMilli(), e.Pos
		a.Tokens, a.Assignment, a.Group, a.InFirst, a.Not = d.Tokens, d.Assignment, d.Group, d.InFirst, d.Not
		a.down = s.Times.Down
		a.Life.Dispatched = s.Times.Clock(e.Time)
		s.Tasks.hand(d.Task, a) // the result of a worker that did not wait for it
	}
	s.Queue.track(w)
}

// Next is the number of the next attempt of a work.
func (w Works) Next(id string) int {
	if of := w[id]; of != nil {
		return of.Last + 1
	}
	return 1
}

// Attempt returns the view of an attempt of something that was dispatched, made on demand; nil for anything else.
func (w Works) Attempt(id string, n int) *Attempt {
	work := w[id]
	if work == nil || n < 1 {
		return nil
	}
	if work.Attempts[n] == nil {
		work.Attempts[n] = &Attempt{Attempt: n}
	}
	return work.Attempts[n]
}

// ByPerson reports whether a person made the newest attempt of a task.
func (w Works) ByPerson(t *Task) bool {
	a := w[t.Task.ID].At(t.Attempt)
	return a != nil && a.Given
}

// Carried reports whether the newest attempt of a task is a patch that has landed in another run.
func (w Works) Carried(t *Task) bool {
	a := w[t.Task.ID].At(t.Attempt)
	return a != nil && a.Carried
}

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
