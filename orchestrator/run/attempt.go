package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// delegations counts the calls of a turn that ask for a task which takes a model. A call without what the tool requires is
// answered by the tool itself and makes no task.
func (s *Spec) delegations(turn *contextscope.Event) int {
	if turn.Content == nil {
		return 0
	}
	n := 0
	for _, p := range turn.Content.Parts {
		if p == nil || p.FunctionCall == nil || p.FunctionCall.Name != spec.ToolDelegate {
			continue
		}
		role, _ := p.FunctionCall.Args["role"].(string)
		if brief, _ := p.FunctionCall.Args["brief"].(string); strings.TrimSpace(brief) != "" && s.Spends(role) {
			n++
		}
	}
	return n
}

// applyAgent folds an event that a worker wrote. An attempt that was never dispatched leaves no mark but its cost.
func (s *State) applyAgent(e *contextscope.Event) error {
	a := s.Works.Attempt(e.Task, e.Attempt)
	if a == nil {
		a = &Attempt{}
	}
	if err := a.admit(e); errors.As(err, new(*wire.ForeignError)) {
		*e = wire.Disown(e, err)
		return decode(e, s.applyUnreadable)
	}
	a.Seen = e.Time.UnixMilli()
	now := e.Time.Sub(s.Spec.Created)
	switch e.Kind {
	case contextscope.KindStarted:
		return decode(e, func(_ *contextscope.Event, _ wire.Started) {
			s.meter(a)
			a.Started, a.Doing, a.Began = true, "", e.Time.UnixMilli()
			a.Stopped, a.StartedPos, a.Lacks = false, e.Pos, nil
			a.Barred = s.Barred(e.Task, a, e.Worker)
			a.Life.Began = s.Times.Clock(e.Time)
			s.came(e.Worker, e.Time)
			if a.turned > 0 {
				a.turned = now // its calls run again
			}
		})
	case contextscope.KindTurn:
		a.Turns++
		a.turned = now
		a.Delegates = s.Spec.delegations(e)
		return nil
	case contextscope.KindUsage:
		return decode(e, func(_ *contextscope.Event, d wire.Spent) { s.spend(e, a, &d, now) })
	case contextscope.KindProgress:
		return decode(e, func(_ *contextscope.Event, p wire.Progress) {
			if a.Doing = p.Doing; p.Wait != nil {
				a.waits(p.Wait, s.Times.Clock(e.Time), s.Times.Clock(p.Wait.Until))
				switch key := p.Wait.Model + " " + p.Wait.Account; p.Wait.For {
				case spec.WaitQuota:
					a.Quota = p.Wait.Until
					s.Quotas[key] = *p.Wait
				case spec.WaitLimit:
					s.Limits[key] = *p.Wait
				}
			}
		})
	case contextscope.KindTool:
		s.Times.tools(a, now)
		if len(e.Data) == 0 {
			return nil // results alone
		}
		return decode(e, func(_ *contextscope.Event, d wire.Tooled) {
			if len(d.Steps) > 0 {
				a.Steps = d.Steps
			}
			a.Saved = contextscope.Saved(a.Saved, d.Kept...)
		})
	case contextscope.KindRequest:
		s.Times.asks(a, now)
		return decode(e, func(_ *contextscope.Event, d wire.Request) { s.Requests.apply(e, a, d) })
	case contextscope.KindSteering:
		return decode(e, func(_ *contextscope.Event, d wire.Steered) { s.Messages.received(e, d.ID, a.Turns+1) })
	case contextscope.KindControl:
		return decode(e, func(_ *contextscope.Event, d wire.Nudge) {
			a.Stopped = a.Stopped || d.Reason == wire.ReasonStopped
			if d.Reason == wire.ReasonMachine {
				a.Lacks = &d
			}
		})
	case contextscope.KindReceipt:
		var r spec.Receipt
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return fmt.Errorf("decode its data: %w", err)
		}
		return s.applyGateRun(e, a, r)
	case contextscope.KindResult:
		return decode(e, func(_ *contextscope.Event, r spec.Result) { s.applyResult(e, a, r) })
	}
	return nil
}

// spend counts what a call has used, or has reserved where it begins.
func (s *State) spend(e *contextscope.Event, a *Attempt, d *wire.Spent, now time.Duration) {
	s.reserve(e, a, d)
	if d.Reserved == nil {
		s.Spent[e.Worker], s.Booked = s.Spent[e.Worker].Add(spec.Sum{Money: d.Booked}), s.Booked.Plus(d.Booked)
	}
	// A program that calls its service itself is booked at its end; the calls of all others are in calls of their own.
	own := s.Spec.Roles[a.Role].Usage != "" && s.Spec.Roles[a.Role].Gateway == ""
	if own && s.Budget.Money && d.Booked == 0 && d.Total() > 0 {
		s.Exhausted = Exhausted{fmt.Sprintf("what the program of %s has used of %s %s: the run can go on with a budget in tokens",
			wire.AgentID(e.Task, e.Attempt), cmp.Or(d.Model, "its model"), spec.NoPrice), e.Pos}
	}
	if d.Call != "" && d.Calls == 0 {
		return // it begins, or no model answered it
	}
	a.Usage, s.Usage = a.Usage.Add(d.Usage), s.Usage.Add(d.Usage)
	s.Spent[e.Worker] = s.Spent[e.Worker].Add(spec.Sum{Tokens: d.Total()})
	s.Times.spend(a, Models, now-d.Took, now)
	a.metered = true
	a.Calls = append(a.Calls, Call{d.Price, d.Tier, d.Usage, d.Cost, d.Model})
}

// reserve counts what the calls under way have reserved.
func (s *State) reserve(e *contextscope.Event, a *Attempt, d *wire.Spent) {
	if d.Call == "" {
		return
	}
	if a.reserved == nil {
		a.reserved = map[string]reserved{}
	}
	if had, begun := a.reserved[d.Call]; begun {
		delete(a.reserved, d.Call)
		s.Spent[had.worker], s.Reserved = s.Spent[had.worker].Less(had.sum), s.Reserved.Less(had.sum)
	}
	if d.Reserved != nil {
		now := reserved{e.Worker, spec.Sum{Tokens: d.Reserved.Total(), Money: d.Booked}}
		a.reserved[d.Call], a.metered = now, true
		s.Spent[now.worker], s.Reserved = s.Spent[now.worker].Add(now.sum), s.Reserved.Add(now.sum)
	}
}

// reserved is what a call under way may use, on a worker.
type reserved struct {
	worker string
	sum    spec.Sum
}

// admit refuses what a worker wrote who does not have the attempt, or under another role than the attempt's: the fence of an
// attempt is of its role.
func (a *Attempt) admit(e *contextscope.Event) error {
	if a.Role != "" && e.Role != "" && e.Role != a.Role {
		return &wire.ForeignError{
			Why: fmt.Sprintf("it is under the role %.40s, and the attempt is of the role %.40s", e.Role, a.Role),
		}
	}
	return a.Admit(e)
}

func (s *State) applyResult(e *contextscope.Event, a *Attempt, r spec.Result) {
	if a.Result != nil {
		return
	}
	if a.Role == "" {
		r = spec.Result{Task: r.Task, Attempt: r.Attempt, Status: spec.StatusFailed, Error: &spec.Fault{
			Class: wire.FaultInternal, Message: fmt.Sprintf("worker %.40s ended it before it was given out", e.Worker),
		}}
	}
	for i := range r.Receipts {
		r.Receipts[i].Pos = e.Pos
	}
	s.weed(e, a, &r)
	if r.Unmetered {
		a.Unmetered++
	}
	a.Result, a.ResultPos, a.Ended, a.Doing = &r, e.Pos, e.Time.UnixMilli(), ""
	a.Life.Ended = s.Times.Clock(e.Time)
	if w := s.Works[e.Task]; w != nil {
		s.Queue.track(w)
	}
	if r.Error != nil && r.Error.Class == wire.FaultOutdated && (a.Epoch > s.Proofs.baselined || s.Crew != nil) {
		s.Proofs.Outdated = true
	}
	foreign := r.Error != nil && r.Error.Class == wire.FaultForeign
	if foreign {
		delete(s.Proofs.At, e.Worker) // it is of another environment by now
		s.Proofs.keep(r)
	}
	s.Times.end(a, e.Task, s.Spec.Created, r, e.Time.Sub(s.Spec.Created))
	if !foreign {
		s.keepReceipts(e.Task, r)
		s.reprove(e, r)
	}
	if e.Task == SetupTask {
		s.noteUnprovable()
	}
	s.Tasks.hand(e.Task, a)
}

// hand gives a task the result of an attempt of it, or of its judge, that was dispatched.
func (x *Tasks) hand(work string, a *Attempt) {
	id, judged := strings.CutSuffix(work, VerifySuffix)
	t := x.ByID[id]
	switch {
	case t == nil || a.Result == nil || a.Role == "":
	case judged && a.Attempt >= t.Verify:
		t.VerifyR = a.Result
	case !judged && a.Attempt >= t.Attempt:
		t.Result = a.Result
	}
}

// keepReceipts keeps what the gates left of a tree, so that nothing is tested again without need.
func (s *Branch) keepReceipts(work string, r spec.Result) {
	if r.Status == spec.StatusDone {
		for _, rc := range r.Receipts {
			s.Proofs.prove(rc)
		}
	}
	red := strings.HasSuffix(work, RedSuffix)
	if work != FinalTask && !strings.HasPrefix(work, BatchTask) && !red || len(r.Receipts) == 0 {
		return
	}
	if !red {
		s.Batches.GateRuns++
	}
	for _, rc := range r.Receipts {
		if rc.Verdict == spec.VerdictFail {
			s.Proofs.fail(rc, FaultOf(&r))
		} else {
			s.Proofs.prove(rc)
		}
	}
}

// Settled returns the result of the work's newest attempt, or nil while it is outstanding.
func (w Works) Settled(id string) *spec.Result {
	if a := w[id].Newest(); a != nil {
		return a.Result
	}
	return nil
}

// RoleAt is the role of one attempt of the work: a task can be transferred.
func (w *Work) RoleAt(attempt int) string {
	if a := w.Attempts[attempt]; a != nil && a.Role != "" {
		return a.Role
	}
	return w.Role
}

// applyGiven folds the patch of a person, or one of another run, as the result of an attempt, which has just been dispatched.
func (s *State) applyGiven(e *contextscope.Event, t *Task, p *spec.Patch) {
	a := s.Works.Attempt(t.Task.ID, t.Attempt)
	summary := "A person changed it by hand."
	if a.Given = a.Role == spec.Person; !a.Given {
		a.Carried, summary = true, "It landed in another run."
	}
	given := *e
	given.Attempt = t.Attempt
	s.applyResult(&given, a, spec.Result{
		Task: t.Task.ID, Attempt: t.Attempt, Status: spec.StatusDone, Patch: p,
		Handoff: spec.Handoff{Summary: summary},
	})
}

// FaultOf returns a result's fault, made of its status where it names none.
func FaultOf(r *spec.Result) spec.Fault {
	if r.Error != nil {
		return *r.Error
	}
	return spec.Fault{Class: string(r.Status), Message: fmt.Sprintf("the attempt ended as %s and gave no reason", r.Status)}
}

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
	s.tried(t, d)
	t.Reason, t.Forgotten, t.Trial = d.Reason, d.Forgotten, d.Trial
	t.silence(d)
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
	case d.State == TaskVerifying && d.Dispatch != nil && d.Trial == nil:
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
