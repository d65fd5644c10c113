package acceptance

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Import proposes to import the patch of a task's newest attempt into the mirror, strictly. Then proposes what follows from the
// verdict: a patch that cannot be imported is refused; one with Patch set is checked, which needs its changes.
type Import struct {
	run.Proposal

	Task  *run.Task
	Patch *Patch
	// Rejected are the failures of earlier attempts whose patches must not come again: the verdict on one that does is Again.
	Rejected []run.AttemptFault
	Then     func(Verdict) []run.Action
}

// Settle decides about the first task with a result that has had no consequence yet. One whose judge costs tokens waits for them.
func Settle(s *run.State) []run.Action {
	for t := range s.Tasks.In(run.TaskRunning) {
		if s.OutOfBudget() && s.Spec.Spends(s.Judge(t)) {
			continue
		}
		if t.Result != nil && t.Result.Attempt == t.Attempt {
			return decideResult(s, t)
		}
	}
	return nil
}

// decideResult proposes what follows from a result: the end of its task, another attempt, or the import of its patch and what its
// checks decide.
func decideResult(s *run.State, t *run.Task) []run.Action {
	r, id := t.Result, t.Task.ID
	transfer := s.Requests.Transfer(t)
	switch {
	case r.Status == spec.StatusDone && r.HandedOver && transfer != nil:
		return handOver(&s.Agenda, &s.Agents, t, transfer)
	case r.Status == spec.StatusDone && r.Patch == nil && t.Task.ChangeSet != "": // it may have to change something yet
		return []run.Action{run.SetTask(id, run.TaskData{State: run.TaskAccepted})}
	case r.Status == spec.StatusDone && r.Patch == nil:
		return []run.Action{run.SetTask(id, run.TaskData{State: run.TaskDone})}
	case r.Status == spec.StatusDone:
		return []run.Action{Import{
			Task: t, Patch: patchOf(&s.Agenda, s.Works, t), Rejected: rejected(&s.Spec, s.Works, t),
			Then: func(v Verdict) []run.Action {
				switch v.Decision {
				case Again:
					return parkRepeat(&s.Spec, t, v.Again)
				case Refuse:
					return recovery.Failed(&s.Agenda, &s.Agents, t, v.Fault())
				}
				return amend(weighed(s, t, v), func(d *run.TaskData) { d.Silences = v.Silences })
			},
		}}
	case r.Status == spec.StatusCancelled:
		return []run.Action{run.SetTask(id, run.TaskData{State: run.TaskCancelled, Reason: run.FaultOf(r).Message})}
	default:
		return recovery.Failed(&s.Agenda, &s.Agents, t, run.FaultOf(r))
	}
}

// weighed is what follows from a patch that no check refused.
func weighed(s *run.State, t *run.Task, v Verdict) []run.Action {
	switch {
	case v.Decision == Ask:
		return ask(s, t, v)
	case len(v.Tests) > 0:
		return try(t, v, run.Doubt{})
	}
	return accept(s, t)
}

// parkRepeat parks a task whose command made the patch again that failed, with what that failure lacks of other files.
func parkRepeat(order *run.Spec, t *run.Task, had *run.AttemptFault) []run.Action {
	f := had.Fault
	return amend(recovery.Park(order, t, "its command made the patch again that was rejected: "+f.Message, &f),
		func(d *run.TaskData) { d.Forgotten = had.Forgotten })
}

// amend changes the data of the event with which what follows from a patch begins.
func amend(actions []run.Action, change func(*run.TaskData)) []run.Action {
	for i, a := range actions[:min(1, len(actions))] {
		switch a := a.(type) {
		case run.Append:
			if d, ok := a.Data.(run.TaskData); ok {
				change(&d)
				a.Data = d
				actions[i] = a
			}
		case run.Assign:
			if d, ok := a.Data.(run.TaskData); ok {
				change(&d)
				a.Data = d
				actions[i] = a
			}
		}
	}
	return actions
}

// rejected are the failures of a command's earlier attempts that are those of their patches. In a change set what the gates found
// may be the others'.
func rejected(order *run.Spec, works run.Works, t *run.Task) (out []run.AttemptFault) {
	if order.Made(t, works).Executor != spec.ExecutorCommand || t.AcceptedDespiteDoubt() {
		return nil
	}
	for _, had := range t.Recent() {
		switch c := had.Fault.Class; {
		case had.Patch == nil || c == wire.FaultGate && t.Task.ChangeSet != "":
		case c == wire.FaultGate || c == wire.FaultRejected || c == wire.FaultVerdict || c == wire.FaultConstraint:
			out = append(out, had)
		}
	}
	return out
}

// maxSiblings bounds the patches of other shards that one is compared with.
const maxSiblings = 64

// patchOf returns what the checks know of a task's newest patch before its files are read; nil for one that was decided about.
func patchOf(agenda *run.Agenda, works run.Works, t *run.Task) *Patch {
	if t.AcceptedDespiteDoubt() || works.Carried(t) {
		return nil
	}
	p := &Patch{
		Task: &t.Task, Role: agenda.Spec.Made(t, works), Handoff: t.Result.Handoff, Named: t.Named, Lost: t.Result.Patch.Lost,
		MaySilence: agenda.MaySilence(t), Record: agenda.Plans.All[t.Plan].DecisionRecord, Gates: agenda.Spec.Project.Gates,
		Beside: []Command{{Of: "the setup", Args: agenda.Spec.Project.Setup.Command}},
	}
	for _, one := range agenda.Spec.Project.Services {
		p.Beside = append(p.Beside, Command{
			Of: "the service " + one.Name, Args: slices.Concat(one.Prepare, one.Command, one.Ready),
		})
	}
	for _, id := range agenda.Tasks.Shards[t.Task.ShardOf] {
		o := agenda.Tasks.ByID[id]
		if id != t.Task.ID && o.Task.Rule != nil && o.Result != nil && o.Result.Patch != nil {
			p.Siblings = append(p.Siblings, Sibling{
				Lines: o.Result.Patch.Added + o.Result.Patch.Deleted, Matches: o.Task.Rule.Matches, Bytes: o.Task.Rule.Bytes,
			})
		}
		if len(p.Siblings) == maxSiblings {
			break
		}
	}
	return p
}

// handOver puts back a task that its agent transferred to another role: it is no failure and costs no attempt.
func handOver(agenda *run.Agenda, agents *run.Agents, t *run.Task, q *run.Request) []run.Action {
	done := []run.Action{run.SetTask(t.Task.ID, run.TaskData{
		State: run.TaskPending, Role: q.Role, Reason: fmt.Sprintf("handed over to %s: %s", q.Role, text.Line(q.Brief)),
	})}
	if t.Result.Patch == nil {
		return done
	}
	return []run.Action{Import{Task: t, Then: func(v Verdict) []run.Action {
		if v.Decision == Refuse {
			return recovery.Failed(agenda, agents, t, v.Fault())
		}
		return done
	}}}
}

// accept puts a patch into the landing queue. A judge sees it before; a tree that has failed its gates already, and once more
// when they were run again, is not tested a third time. That of a task of a change set is not tested alone.
func accept(s *run.State, t *run.Task) []run.Action {
	p, gates := t.Result.Patch, s.Spec.GatesOf(t.Task)
	if t.Task.ChangeSet == "" && s.Proofs.Runs(p.Tree, gates, p.Base) > 1 {
		return recovery.Failed(&s.Agenda, &s.Agents, t, recovery.Red(&s.Proofs, s.Proofs.Failed(p.Tree, gates, p.Base)))
	}
	if judge := s.Judge(t); judge != "" && !s.Works.Carried(t) && (!t.AcceptedDespiteDoubt() || !hasVerdict(s.Works, t)) {
		return []run.Action{judgeIt(t, judge)}
	}
	return acceptOrReview(&s.Spec, &s.Proofs, t)
}

// acceptOrReview puts a patch that nothing speaks against into the landing queue, by its state. Where a person must review it, or
// no gate can prove it, it is held first. A person reviews the patches of a change set together, when they are complete.
func acceptOrReview(order *run.Spec, proofs *run.Proofs, t *run.Task) []run.Action {
	if t.Task.ChangeSet == "" && order.ToReview(t) {
		return []run.Action{run.Review(t)}
	}
	if actions := holdUnprovable(order, proofs, t); actions != nil {
		return actions
	}
	return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskAccepted})}
}

// hasVerdict reports whether a judge has come to an end about the newest patch of a task.
func hasVerdict(works run.Works, t *run.Task) bool {
	w := works[t.Task.ID+run.VerifySuffix]
	return w != nil && w.Attempts[w.Last].Head == t.Result.Patch.Commit && w.Attempts[w.Last].Result != nil
}

// judgeIt assigns the judge of a task's patch.
func judgeIt(t *run.Task, judge string) run.Action {
	return run.AssignTask(t.Task.ID, run.TaskVerifying, run.Dispatch{
		Task: t.Task.ID + run.VerifySuffix, Attempt: t.Verify + 1, Role: judge, Head: t.Result.Patch.Commit,
	})
}

// SettleVerify decides about the first verdict of a judge that has had no consequence yet. Where its judge would be called again,
// which costs tokens, the task waits for them.
func SettleVerify(s *run.State) []run.Action {
	for t := range s.Tasks.In(run.TaskVerifying) {
		if t.Trial == nil && t.VerifyR != nil && t.VerifyR.Attempt == t.Verify {
			if actions := judged(s, t); len(actions) > 0 {
				return actions
			}
		}
	}
	return nil
}

func judged(s *run.State, t *run.Task) []run.Action {
	r := t.VerifyR
	if r.Status == spec.StatusDone {
		return acceptOrReview(&s.Spec, &s.Proofs, t)
	}
	f := run.FaultOf(r)
	var retry []run.Action
	if judge := s.Works[t.Task.ID+run.VerifySuffix].RoleAt(t.Verify); !s.OutOfBudget() || !s.Spec.Spends(judge) {
		retry = append(retry, judgeIt(t, judge))
	}
	if actions, ok := recovery.Pause(&s.Spec, &s.Agents, t.Task.ID+run.VerifySuffix, f, retry...); ok {
		return actions
	}
	switch f.Class {
	case wire.FaultTree:
		return recovery.Failed(&s.Agenda, &s.Agents, t, f)
	case wire.FaultVerdict:
		f.Message = refusal(s.Works, t) + f.Message
		return recovery.Failed(&s.Agenda, &s.Agents, t, f)
	case wire.FaultConstraint:
		var evidence []string
		for _, line := range text.Few(strings.Split(f.Detail, "\n"), maxNamed) {
			evidence = append(evidence, "its judge reports "+text.Quote(line))
		}
		return hold(t, wire.FaultConstraint, evidence...)
	default:
		return judgeFailed(s.Works, t, f, retry)
	}
}

// refusal names the judge of a task's patch, and the field of the task that named it.
func refusal(works run.Works, t *run.Task) string {
	judge := works[t.Task.ID+run.VerifySuffix].RoleAt(t.Verify)
	if t.Task.Verify != "" {
		judge += " (verify)"
	}
	return "judge " + judge + " refused: "
}

// judgeFailed repeats a judge that came to no verdict, a few times. Then the patch is held: it was not judged.
func judgeFailed(works run.Works, t *run.Task, f spec.Fault, retry []run.Action) []run.Action {
	tries := 0
	for _, a := range works[t.Task.ID+run.VerifySuffix].Attempts {
		if a.Result != nil && a.Head == t.Result.Patch.Commit {
			tries++
		}
	}
	if tries >= recovery.MaxGateTries || recovery.Hopeless(f) {
		return hold(t, "not judged", "its judge came to no verdict: "+f.Message)
	}
	return retry
}
