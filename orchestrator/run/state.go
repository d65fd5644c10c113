// Package run folds the event log of a run into its State. Its input are events, its output is the state with its indexes and
// queries; it holds the payloads and ids of the events that the conductor writes, and the actions that rules propose. It
// never does I/O, reads no clock and decides nothing.
package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"divisi/contextscope"
	"divisi/subagents/wire"
)

// The conductor's own tasks. A plan's ids cannot contain two dashes in a row.
const (
	SetupTask    = "--setup"
	BaselineTask = "--baseline"
	FlakesTask   = "--flakes"
	AgainTask    = "--again" // the same, where something waits for it
	FinalTask    = "--final"
	BatchTask    = "--batch"
	VerifySuffix = "--verify"
	RedSuffix    = "--red"
	// MasterTask is the id of the task whose attempts are the master's turns at the plan.
	MasterTask = "master"
)

// State is a run, folded from its log: the parts that rules and displays read. Apply is its only writer; it does no I/O and
// reads no clock.
type State struct {
	Agenda
	Agents
	Branch
	Reading
}

// Reading is the state's knowledge of the log that it is folded from.
type Reading struct {
	// ConductorPos is the position of the newest event by a conductor, First and Pos those of the first and the newest event of
	// all, Time is the time of that.
	ConductorPos uint64
	First, Pos   uint64
	Time         time.Time
	// Unread names the events of a conductor that could not be read: the state can then be shown, but no conductor acts on it.
	Unread []string
	unread map[string]int // events that could not be read, by their worker
	// Damaged is set where some of the log is lost.
	Damaged bool
	Notices []string
}

// NewState returns the state of a run with an empty log.
func NewState() *State {
	s := &State{
		Agenda: newAgenda(), Agents: newAgents(), Branch: newBranch(), Reading: Reading{unread: map[string]int{}},
	}
	s.Templates = newTemplates(&s.Tasks)
	return s
}

// Apply folds one event in. An event that it cannot read is an error that names it; the state is then unchanged. One of a worker
// that does not have the attempt becomes unreadable, and is noted.
func (s *State) Apply(e *contextscope.Event) error {
	if err := s.apply(e); err != nil {
		return fmt.Errorf("event %s at %d (%s): %w", e.ID, e.Pos, e.Kind, err)
	}
	if s.First == 0 {
		s.First = e.Pos
	}
	if s.Pos = max(s.Pos, e.Pos); e.Time.After(s.Time) {
		s.Time = e.Time
	}
	if e.Agent == "" {
		s.ConductorPos = max(s.ConductorPos, e.Pos)
	}
	return nil
}

// payload is the data of a kind of event that the conductor writes.
type payload struct {
	holds func(data any) bool
	check func(data []byte) error
	fold  func(s *State, e *contextscope.Event) error
}

// payloads has the kinds that the conductor writes.
var payloads = map[contextscope.Kind]payload{
	contextscope.KindRun:     folded((*State).applyRun),
	contextscope.KindPlan:    folded((*State).applyPlan),
	contextscope.KindTask:    folded((*State).applyTask),
	contextscope.KindLanding: folded((*State).applyLanding),
	contextscope.KindAnswer:  folded((*State).applyAnswer),
	contextscope.KindPull:    folded((*State).applyPull),
}

// folded is a payload of a type, which apply folds.
func folded[T any](apply func(*State, *contextscope.Event, T)) payload {
	return payload{
		holds: func(data any) bool { _, is := data.(T); return is },
		check: func(data []byte) error { _, err := read[T](data); return err },
		fold: func(s *State, e *contextscope.Event) error {
			return decode(e, func(e *contextscope.Event, d T) { apply(s, e, d) })
		},
	}
}

// Check returns the error for an event of the conductor whose data the fold cannot read.
func Check(e *contextscope.Event) error {
	if p, conductors := payloads[e.Kind]; conductors {
		return p.check(e.Data)
	}
	return nil
}

func (s *State) apply(e *contextscope.Event) error {
	p, conductors := payloads[e.Kind]
	switch {
	case conductors:
		return p.fold(s, e)
	case e.Kind == contextscope.KindUnreadable:
		return decode(e, s.applyUnreadable)
	case e.Kind == contextscope.KindUser:
		if e.Agent == "" { // that of an agent is the message that it was woken with
			s.Messages.add(&Message{Control: wire.MessageOf(e), Pos: e.Pos})
		}
		return nil
	default:
		return s.applyAgent(e)
	}
}

func decode[T any](e *contextscope.Event, apply func(*contextscope.Event, T)) error {
	d, err := read[T](e.Data)
	if err != nil {
		return fmt.Errorf("decode its data: %w", err)
	}
	apply(e, d)
	return nil
}

func read[T any](data []byte) (d T, err error) {
	if err = json.Unmarshal(data, &d); err != nil {
		return d, err
	}
	if checked, ok := any(d).(interface{ check() error }); ok {
		err = checked.check()
	}
	return d, err
}

func (s *State) applyRun(e *contextscope.Event, d Data) {
	if d.Spec != nil {
		created := cmp.Or(d.Spec.Created, s.Spec.Created, e.Time) // without a time of its own the run begins with its log
		s.Spec, s.Head, s.Budget = *d.Spec, d.Spec.Base, d.Spec.Budget
		s.Spec.Created, s.Times.created = created, created
		s.noteUnprovable()
	}
	if d.Epoch > 1 { // a person may have answered since the end
		s.Times.Down += max(0, e.Time.Sub(cmp.Or(s.Ended, s.Time)))
	}
	if d.State != "" {
		s.enter(d.State, d.Reason, e.Time)
	}
	if d.Wait != nil {
		s.Wait.Set(*d.Wait, e.Time)
	} else if s.Status.Ended() {
		s.Wait.Set("", e.Time)
	}
	if d.Line != nil {
		s.Line = *d.Line
	}
	s.Times.own(s.Times.Clock(e.Time), d.Own)
	s.Times.person(s.Wait.For != "" || s.Line != "", s.Times.Clock(e.Time))
	if d.Keys != nil {
		s.Spec.Keys = d.Keys
	}
	s.applyCrew(e, d)
	s.Spec.allow(d)
	if d.Epoch > 0 {
		s.Epoch, s.Began, s.Exhausted = d.Epoch, e.Pos, Exhausted{} // a resume tries again
	}
	s.Spec.reread(d, &s.Tasks)
	s.applyGate(e, d.Gate)
	if d.Baseline != nil {
		s.Proofs.rebase(d.Baseline, e.Pos)
		s.Batches.Limit = 0
		s.Proofs.baselined, s.Proofs.Outdated = 0, false
		if w := s.Works[BaselineTask]; w != nil {
			s.Proofs.baselined = w.Attempts[w.Last].Epoch
		}
		s.noteUnprovable()
	}
	if d.Other != nil {
		s.Proofs.applyOther(*d.Other, e.Pos)
	}
	maps.Copy(s.Proofs.At, d.At)
	if d.Flaky != nil {
		s.Proofs.Flaky = d.Flaky
	}
	for gate, names := range d.Names {
		r := s.Proofs.Baseline[gate]
		r.Names = append(slices.Clone(r.Names), names)
		s.Proofs.Baseline[gate] = r
	}
	s.Unverified = cmp.Or(d.Unverified, s.Unverified)
	if d.Final != nil {
		for i := range d.Final {
			d.Final[i].Pos = e.Pos
		}
		s.Final, s.Batches.firstRed, s.Missing = d.Final, d.FirstRed, d.Missing
	}
	s.Twin = cmp.Or(d.Twin, s.Twin)
	s.applyDecided(e, d.Decision, d.Standing)
	maps.Copy(s.Unlike, d.Unlike)
	s.limit(d, e.Pos)
	if d.Ref != "" {
		s.Ref, s.Published = d.Ref, cmp.Or(d.Head, s.Head)
	}
	s.Notices = append(s.Notices, d.Notices...)
	if e.Task != "" {
		s.Messages.reported(e.Task)
	}
	s.applyProven(d, e.Time)
	if d.Quarantine != nil {
		s.applyQuarantine(e, *d.Quarantine)
	}
	s.dispatched(e, d.Dispatch)
	s.Works.void(d.Void)
}

func (s *State) enter(status Status, reason string, at time.Time) {
	if !s.Passed[status] {
		s.Times.Entered[status] = max(0, s.Times.Clock(at))
	}
	s.Status, s.Reason, s.Passed[status] = status, reason, true
	if status == Running {
		s.Final, s.Batches.firstRed, s.Missing, s.Twin = nil, 0, nil, nil // the head may move again
	}
	switch {
	case !status.Ended():
		s.Ended = time.Time{}
	case s.Ended.IsZero():
		s.Ended = at
	}
}

// maxUnread bounds the events of one worker that cannot be read and are noted each: it can append any number.
const maxUnread = 100

func (s *Reading) applyUnreadable(e *contextscope.Event, d wire.Unreadable) {
	s.Damaged = s.Damaged || d.Lost
	s.unread[e.Worker]++
	switch n := s.unread[e.Worker]; {
	case e.Worker == "" || n <= maxUnread:
		s.Notices = append(s.Notices, d.Reason)
	case n == maxUnread+1:
		s.Notices = append(s.Notices, fmt.Sprintf("more than %d events of worker %.64s cannot be read: the others are not named",
			maxUnread, e.Worker))
	}
	if e.Agent == "" {
		s.Unread = append(s.Unread, d.Reason)
	}
}

func (s *State) applyPlan(e *contextscope.Event, d PlanData) {
	if d.Replaces > 0 {
		s.replace(e, d)
		return
	}
	for set, ids := range d.Joins {
		for _, id := range ids {
			if t := s.Tasks.ByID[id]; t != nil {
				s.Tasks.enter(t, set)
			}
		}
	}
	s.addTasks(s.Plans.add(d, &s.Spec), d.Tasks)
	s.expanded(e, d)
	if d.Follows != "" {
		s.Requests.Refused = slices.DeleteFunc(s.Requests.Refused, func(q *Request) bool { return q.ID == d.Follows })
		return
	}
	if d.Request != "" {
		s.Requests.child(d, &s.Tasks)
		return
	}
	if of, given := d.dropping(e); given.Given != nil {
		s.applyTask(of, given)
	}
	if d.By == ByFile && len(s.Plans.All) == 1 {
		s.carry(e, d)
	}
	if !d.ofPerson() {
		s.Master.planned()
	}
}

// set moves a task to a state, at a position of the log.
func (s *State) set(t *Task, to TaskState, pos uint64) {
	if !s.Tasks.set(t, to, pos) {
		return
	}
	s.Templates.ended(t)
	if !t.GivenUp() && t.State != TaskSkipped {
		s.Messages.ended(t.Task.ID)
	}
}

// IntegrationRef is the ref of a run's integration branch, in Divisi's mirror and, at the end, in the user's repository.
func IntegrationRef(run string) string { return "refs/heads/divisi/" + run }

// sendBack folds that a person sent a plan that waits for approval back to the master, with words that are a message to it.
// Nothing of the plan had started: its tasks are removed, so that a new plan can use their ids.
func (s *State) sendBack(e *contextscope.Event, plan int, words, by string) {
	s.Messages.add(&Message{Control: wire.Control{
		ID: e.ID, Verb: wire.ControlSteer, Task: MasterTask, From: by, Text: words + sentBack,
	}, Pos: e.Pos})
	s.Withdraw(plan)
}

// sentBack follows the words of the person for the master.
const sentBack = "\n\nWith these words your plan was sent back, and nothing of it was started. Its tasks no longer exist: " +
	"dispatch a new plan."
