package run

import (
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
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
	switch a.Data.(type) {
	case PlanData:
		return contextscope.KindPlan
	case TaskData:
		return contextscope.KindTask
	case LandingData:
		return contextscope.KindLanding
	case wire.Answer:
		return contextscope.KindAnswer
	default:
		return contextscope.KindRun
	}
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

// Together appends what some actions append as one message of the log, so that a kill leaves nothing half done. What stands before
// the first of them is executed before, and the others behind the message.
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
	Plan   spec.Plan
	Commit string
	Then   func(data PlanData, problems []spec.Problem) []Action
}

// Approve asks a person about a plan.
type Approve struct {
	Proposal

	Plan int
}

// Fail ends the conductor with an error. The run is stopped and can be resumed.
type Fail struct {
	Proposal

	Err error
}
