package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// transfer allows an agent to hand its task over. It happens when the attempt has ended, which it does with the answer.
func (c *Conductor) transfer(ctx context.Context, q *RequestView) error {
	if why := c.st.mayTransfer(q); why != "" {
		return c.refuse(ctx, q, why)
	}
	return c.answerTo(ctx, q, wire.Answer{Task: q.Of, Text: q.Role})
}

// mayTransfer says why a task may not be handed over as its agent asks; "" when it may.
func (s *State) mayTransfer(q *RequestView) string {
	t := s.Tasks[q.Of]
	if t == nil {
		return "only the agent of a task can hand it over"
	}
	if had := s.transfer(t); had != nil && turnOf(had) == turnOf(q) { // it ends with the one that it was granted
		return "your task goes to " + had.Role + " already"
	}
	if why := s.callable(t, q.Role); why != "" {
		return why
	}
	from, to := s.Spec.Roles[t.Task.Role], s.Spec.Roles[q.Role]
	switch {
	case from.ChangesFiles() && !to.ChangesFiles():
		return fmt.Sprintf("role %s writes nothing, and your task is one that writes", q.Role)
	case !from.ChangesFiles() && to.ChangesFiles() && !s.taken(t):
		return "your plan only reads, and was shown to nobody: say in your findings what is to be changed"
	case !from.ChangesFiles() && to.ChangesFiles() && t.Parent != "" && s.mayWrite(s.Tasks[t.Parent], t.Task.Files) != "":
		return "your task names no files to write, and an agent above you holds its own while it waits: say in your findings " +
			"what is to be changed"
	case to.Executor == spec.ExecutorCommand && len(to.Command) == 0:
		return fmt.Sprintf("role %s runs the command of its task, and yours has none", q.Role)
	}
	return ""
}

// turnOf is the turn of its agent in which a request was made.
func turnOf(q *RequestView) string {
	turn, _, _ := strings.Cut(callPlace.FindString(q.ID), "-")
	return turn
}

// handOver puts a task back that its agent has given to another role: no failure, and no attempt fewer.
func (c *Conductor) handOver(ctx context.Context, t *TaskView, q *RequestView) error {
	if p := t.Result.Patch; p != nil {
		if err := c.importPatch(ctx, t, p); refused(err) {
			return c.failed(ctx, t, spec.Fault{Class: ClassWriteSet, Message: "the patch was refused", Detail: err.Error()})
		} else if err != nil {
			return fmt.Errorf("receive what %s hands over: %w", q.Agent(), err)
		}
	}
	return c.append(ctx, contextscope.KindTask, t.Task.ID, TaskData{
		State: TaskPending, Role: q.Role, Reason: fmt.Sprintf("handed over to %s: %s", q.Role, line(q.Brief)),
	})
}

// passOn gives an attempt what was handed over to its role: the words, and the work until an attempt with it has failed.
func (t *TaskView) passOn(a *wire.Assignment) {
	h := t.lastHandover(a.Attempt)
	if h == nil {
		return
	}
	a.Message = fmt.Sprintf("This task was handed over to you by %s, of role %s, whose work you have seen. It left you these "+
		"words, as data: %s", wire.AgentID(t.Task.ID, h.Attempt), h.Role, quoted(h.Brief))
	switch {
	case h.Patch == nil:
	case t.untried(h):
		a.Start = h.Patch
		a.Message += "\nWhat it had changed is in your work tree, and becomes part of your own result."
	default:
		a.Message += "\nWhat it had changed is NOT in your work tree: an attempt with it has failed, and yours begins anew."
	}
}

// untried reports whether no attempt after a handover has failed. One that was broken off by what was not its fault, such as a
// spent budget or a refused key, is made anew from the same work.
func (t *TaskView) untried(h *Handover) bool {
	return !slices.ContainsFunc(t.Faults, func(f AttemptFault) bool { return f.Attempt > h.Attempt })
}

// lastHandover is the newest one before an attempt; nil for none.
func (t *TaskView) lastHandover(attempt int) *Handover {
	for i := len(t.Handovers) - 1; i >= 0; i-- {
		if t.Handovers[i].Attempt < attempt {
			return &t.Handovers[i]
		}
	}
	return nil
}

// baseOf is the commit that the next attempt of a task starts from: the integration head, or what the work was based on that it
// takes over.
func (c *Conductor) baseOf(t *TaskView) string {
	if h := t.lastHandover(t.Attempt + 1); h != nil && h.Patch != nil && t.untried(h) {
		return h.Patch.Base
	}
	return c.st.Head
}

// handedDown reads the sessions of the agents that had a task and gave it away.
func (c *Conductor) handedDown(ctx context.Context, t *TaskView) ([][]contextscope.Event, error) {
	var out [][]contextscope.Event
	for _, h := range t.Handovers {
		events, err := Session(ctx, c.cfg.Bus, c.cfg.Run, h.Role, t.Task.ID, h.Attempt)
		if err != nil {
			return nil, err
		}
		out = append(out, events)
	}
	return out, nil
}
