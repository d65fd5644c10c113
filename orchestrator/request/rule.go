package request

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Settle decides about the first open request that can be answered or made a task.
func Settle(s *run.State) []run.Action {
	for _, q := range s.OpenRequests(&s.Tasks) {
		if actions := settle(s, q); len(actions) > 0 {
			return actions
		}
	}
	return nil
}

func settle(s *run.State, q *run.Request) []run.Action {
	switch q.Kind {
	case wire.RequestDelegate:
		return delegate(s, q)
	case wire.RequestWait:
		if behind(&s.Requests, q) {
			return nil
		}
		return answer(q, wire.Answer{Text: "all have ended"})
	case wire.RequestTransfer:
		if why := mayTransfer(&s.Agenda, &s.Agents, q); why != "" {
			return refuse(q, why)
		}
		return answer(q, wire.Answer{Task: q.Of, Text: q.Role})
	case wire.RequestScope:
		return grant(&s.Agenda, q)
	case wire.RequestSend:
		return pass(&s.Agenda, &s.Agents, q)
	case wire.RequestRevise, wire.RequestCancel:
		return reviseFor(&s.Agenda, &s.Agents, q)
	case wire.RequestAsk:
		return nil // the master or a person answers it
	default:
		return refuse(q, fmt.Sprintf("unknown request kind %.40q", q.Kind))
	}
}

// answer ends a request. The agent follows the log of the answers.
func answer(q *run.Request, a wire.Answer) []run.Action {
	a.Request = q.ID
	return []run.Action{run.Append{Task: q.Of, Data: a}}
}

func refuse(q *run.Request, why string) []run.Action { return answer(q, wire.Answer{Refused: why}) }

// delegate makes a task of a request, and answers it when that task has ended.
func delegate(s *run.State, q *run.Request) []run.Action {
	switch {
	case q.Child != "" && q.Background && !q.Begun:
		return answer(q, wire.Answer{Task: q.Child, Begun: true})
	case q.Child != "":
		return handBack(&s.Tasks, &s.Agents, q)
	}
	if why := mayDelegate(&s.Agenda, &s.Agents, q); why != "" {
		return refuse(q, why)
	}
	p := spec.Plan{Tasks: []spec.Task{child(&s.Tasks, q)}}
	return []run.Action{run.Expand{Plan: p, Commit: s.Tip(), Then: func(d run.PlanData, problems []spec.Problem) []run.Action {
		if len(problems) > 0 {
			return refuse(q, problemText(&spec.PlanError{Problems: problems}))
		}
		if tokens, limited := share(&s.Agenda, &s.Agents, q); limited && s.Spec.Spends(q.Role) {
			d.Grant, d.Ceiling = tokens, min(d.Ceiling, tokens)
		}
		d.Tasks[0].Unlocked = nil // only a person and the master unlock
		d.By, d.Request, d.DecisionRecord = q.Agent(), q.ID, s.Plans.All[s.Tasks.ByID[q.Of].Plan].DecisionRecord
		return []run.Action{run.Append{Data: d}}
	}}}
}

// behind reports whether a task runs in the background for the agent of a request.
func behind(requests *run.Requests, q *run.Request) bool {
	return slices.ContainsFunc(requests.Of[q.Of], func(other *run.Request) bool {
		return other.Agent() == q.Agent() && other.Begun && other.Answer == nil
	})
}

// handBack answers a request whose task has ended.
func handBack(tasks *run.Tasks, agents *run.Agents, q *run.Request) []run.Action {
	t := tasks.ByID[q.Child]
	if !t.Ended() {
		return nil
	}
	a := wire.Answer{Task: q.Child, Status: spec.StatusDone, Usage: agents.Requests.Account(q.Child, agents.Works)}
	if t.Result != nil {
		a.Handoff = t.Result.Handoff
	}
	switch t.State {
	case run.TaskLanded:
		a.Commit = t.Commit
		a.Text = "its change has landed as " + t.Commit + "; your own tree is unchanged, without it"
	case run.TaskParked:
		a.Status, a.Fault = spec.StatusFailed, &spec.Fault{Class: "parked", Message: t.Reason}
	case run.TaskCancelled, run.TaskSkipped:
		a.Status, a.Fault = spec.StatusCancelled, &spec.Fault{Class: wire.FaultCancelled, Message: t.Reason}
	}
	return answer(q, a)
}

// grant decides whether a task may write more than it was given. The grant holds at once.
func grant(agenda *run.Agenda, q *run.Request) []run.Action {
	t := agenda.Tasks.ByID[q.Of]
	if t != nil && len(t.Task.Files) == 0 {
		return answer(q, wire.Answer{
			Text: "your task has no write set: everything that is not protected is yours to write",
		})
	}
	why := mayGrow(agenda, t, q)
	switch {
	case why == "" && ForPerson(&agenda.Spec, q):
		return nil
	case why == "":
		why = unplanned(&agenda.Spec, q.Paths)
	}
	if why != "" {
		return refuse(q, why)
	}
	return answer(q, grown(q))
}

// grown is the answer that grants what a request asks for.
func grown(q *run.Request) wire.Answer {
	return wire.Answer{Granted: q.Paths, Text: "yours to write from now on: " + strings.Join(q.Paths, ", ")}
}

// pass delivers what the master sends.
func pass(agenda *run.Agenda, agents *run.Agents, q *run.Request) []run.Action {
	switch {
	case q.Of != run.MasterTask:
		return refuse(q, "only the master can write to others")
	case q.Task == run.MasterTask || q.Task == "":
		return refuse(q, "name the task of the agent")
	case sent(agents.Decisions, agents, q):
		return answer(q, wire.Answer{Text: q.Task + " has it"})
	}
	if by := agents.Decisions.By(q.Task); by != "" {
		return refuse(q, wire.Speaker(by)+" has answered what "+q.Task+" waits for")
	}
	if q.Accept {
		actions, err := Accept(agenda, agents.Works, q.Task, run.Answer{By: q.Agent()})
		if err != nil {
			return refuse(q, err.Error())
		}
		return append(actions, answer(q, wire.Answer{Text: "the patch of " + q.Task + " goes on"})...)
	}
	actions, outcome, err := Send(agenda, agents, q.Task, q.Text, q.Agent())
	var no *RefusedError
	if errors.As(err, &no) {
		return refuse(q, no.Reason)
	}
	return append(actions, answer(q, wire.Answer{Text: outcome})...)
}

// Send puts a message to the agents of a task, or to the master where task is empty. The log has it before an agent receives it.
// Where an agent of the task waits with a question it answers the oldest. becomes says when the agent receives it; the error is a
// *RefusedError where no agent can.
func Send(agenda *run.Agenda, agents *run.Agents, task, words, from string) (actions []run.Action, outcome string, err error) {
	if task == "" {
		task = run.MasterTask
	}
	if h, err := heldOnly(agenda, task); h != nil && strings.TrimSpace(words) != "" {
		actions, err = reviseBy(agenda, agents.Works, h, words, from)
		return actions, "the shards of " + task + " restart with these words in their brief", err
	} else if err != nil {
		return nil, "", err
	}
	if err := reachable(agenda, task, words); err != nil {
		return nil, "", err
	}
	if q := question(&agenda.Tasks, agents, task); q != nil {
		actions, outcome = Reply(q, words, from)
		return actions, outcome, nil
	}
	if t := agenda.Tasks.ByID[task]; t != nil && t.Doubt() != nil {
		actions, err := rule(agenda, agents.Works, t, run.Answer{Option: run.Reject, Text: words, By: from})
		return actions, "the patch of " + task + " is rejected with these words", err
	}
	return Message(agenda, agents, task, words, from)
}

// Message is Send of what answers nothing, also where a question has come since a person wrote it.
func Message(agenda *run.Agenda, agents *run.Agents, task, words, from string) ([]run.Action, string, error) {
	task = cmp.Or(task, run.MasterTask)
	if err := reachable(agenda, task, words); err != nil {
		return nil, "", err
	}
	outcome, err := deliveryOf(agenda, agents, task)
	if err != nil {
		return nil, "", err
	}
	return []run.Action{run.Write{Task: task, Text: words, From: from}, run.Tell{Work: task}}, outcome, nil
}

// Reply answers a question.
func Reply(q *run.Request, words, from string) (actions []run.Action, outcome string) {
	return answer(q, wire.Answer{Text: words, From: from}),
		fmt.Sprintf("answers the question of %s: %s", q.Agent(), text.Line(q.Question))
}

// CancelOrphans cancels the first task whose asking agent has ended: its own children follow, one rule after the other. A task
// that is landing is left to land.
func CancelOrphans(s *run.State) []run.Action {
	for _, q := range s.Requests.Unanswered {
		if q.Child == "" || s.Alive(q, &s.Tasks) {
			continue
		}
		if t := s.Tasks.ByID[q.Child]; !t.Ended() && t.State != run.TaskLanding {
			return end(s.Works, t, run.TaskCancelled, q.Agent()+", which had asked for it, has ended")
		}
	}
	return nil
}

// Cancel cancels a task, and with it everything that its agent has delegated; of a held template it parks what is left. The error
// is a *RefusedError.
func Cancel(agenda *run.Agenda, works run.Works, id, reason, by string) ([]run.Action, error) {
	if h, err := heldOnly(agenda, id); h != nil {
		return parkHeld(agenda, h, by, reason), nil
	} else if err != nil {
		return nil, err
	}
	if err := reachable(agenda, id, reason); err != nil {
		return nil, err
	}
	t := agenda.Tasks.ByID[id]
	switch {
	case t == nil:
		return nil, Refusedf("the master ends with its run: cancel run %s", agenda.Spec.Run)
	case t.Ended():
		return nil, Refusedf("%s has ended and is %s", id, t.State)
	case t.State == run.TaskLanding:
		return nil, Refusedf("%s is landing", id)
	}
	return end(works, t, run.TaskCancelled, reason), nil
}

// end ends a task first in the log, from when on nothing of it counts, then on the queue and with its agent.
func end(works run.Works, t *run.Task, as run.TaskState, reason string) []run.Action {
	id := t.Task.ID
	return append([]run.Action{run.SetTask(id, run.TaskData{State: as, Reason: reason})}, callBack(works, id)...)
}

// ReportLate reports the messages to one task that came too late: the task has ended well, and none of its agents received them.
func ReportLate(s *run.State) []run.Action {
	if len(s.Messages.Late) == 0 {
		return nil
	}
	t := s.Tasks.ByID[s.Messages.Late[0].Task]
	var notices []string
	for _, m := range s.Messages.Late {
		if m.Task != t.Task.ID {
			continue
		}
		said := strings.Join(strings.Fields(strings.TrimPrefix(m.Text, "Message of "+m.From+":\n")), " ")
		notice := fmt.Sprintf("%s is %s, and no agent of it received %q: it came too late. "+
			"If the result is not enough, start another run", m.Task, t.State, text.Clip(said, text.MaxLine))
		// The same words may be sent twice.
		if !slices.Contains(s.Notices, notice) && !slices.Contains(notices, notice) {
			notices = append(notices, notice)
		}
	}
	return []run.Action{run.Append{Task: t.Task.ID, Data: run.Data{Notices: notices}}}
}
