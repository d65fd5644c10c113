package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// RefusedError says that a run cannot do what it was asked: the words say why, and what to do instead.
type RefusedError struct{ Reason string }

// Error says why.
func (e *RefusedError) Error() string { return e.Reason }

func refusedf(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// maxMessage bounds a message to an agent, in bytes.
const maxMessage = 32 << 10

// Send puts a message to the agents of a task, or to the master where task is empty. It is in the log before anybody is told.
// Where an agent of the task waits with a question it is the answer to it, the oldest first. The words that are returned say what
// becomes of it; the error is a *RefusedError where it can reach nobody.
func (c *Conductor) Send(ctx context.Context, task, text, from string) (string, error) {
	if task == "" {
		task = MasterTask
	}
	if err := c.st.reachable(task, text); err != nil {
		return "", err
	}
	if q := c.st.question(task); q != nil {
		return fmt.Sprintf("answers the question of %s: %s", q.Agent(), line(q.Question)),
			c.answerTo(ctx, q, wire.Answer{Text: text, From: from})
	}
	becomes, err := c.st.hears(task)
	if err != nil {
		return "", err
	}
	if err := c.write(ctx, task, text, from); err != nil {
		return "", err
	}
	c.tell(ctx, task)
	return becomes, nil
}

// write appends a message.
func (c *Conductor) write(ctx context.Context, task, text, from string) error {
	e, err := c.event(contextscope.KindUser, task, struct{}{})
	if err != nil {
		return err
	}
	e.Author, e.Data, e.Content = from, nil, genai.NewContentFromText(text, genai.RoleUser)
	return c.commit(ctx, e)
}

// reachable says why nobody can be told anything, as a *RefusedError.
func (s *State) reachable(task, text string) error {
	switch {
	case strings.TrimSpace(text) == "" || !utf8.ValidString(text):
		return refusedf("the message is empty, or no text")
	case len(text) > maxMessage:
		return refusedf("the message has %d bytes, and at most %d are taken", len(text), maxMessage)
	case s.Run.Ended() && s.Run != RunStopped:
		return refusedf("run %s is over: %s", s.Spec.Run, s.Run)
	case task == MasterTask && s.Spec.Plan != nil:
		return refusedf("run %s has a plan file and no master: name a task: divisi send %s/TASK", s.Spec.Run, s.Spec.Run)
	case task != MasterTask && s.Tasks[task] == nil:
		text := fmt.Sprintf("run %s has no task %q", s.Spec.Run, task)
		if near := spec.Nearest(task, s.Order); near != "" {
			text += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return refusedf("%s", text)
	}
	return nil
}

// hears says in words when a task's agent is told a message, or why there is none that could be, as a *RefusedError.
func (s *State) hears(id string) (string, error) {
	if id == MasterTask {
		return s.masterHears()
	}
	t := s.Tasks[id]
	role := s.Spec.Roles[t.Task.Role]
	switch {
	case t.Ended():
		return "", refusedf("%s has ended and is %s: no agent works on it any more", id, t.State)
	case !role.Runs(spec.ExecutorModel):
		return "", refusedf("%s is carried out by a command, which nobody can speak to", id)
	case t.State == TaskRunning && s.spokenTo(t):
		return wire.AgentID(id, t.Attempt) + " is told at its next turn", nil
	case t.State == TaskPending:
		return id + " is told when its next attempt begins", nil
	default:
		return fmt.Sprintf("%s is %s: if it comes back for another attempt, that one is told", id, t.State), nil
	}
}

// spokenTo reports whether a model carries the task's newest attempt out.
func (s *State) spokenTo(t *TaskView) bool {
	role := s.Spec.Roles[s.Works[t.Task.ID].roleAt(t.Attempt)]
	return carriedOutBy(role, t.executorAt(&role, t.Attempt)).Executor == spec.ExecutorModel
}

func (s *State) masterHears() (string, error) {
	w := s.Works[MasterTask]
	switch why := s.masterGaveUp(); {
	case why != "":
		return "", refusedf("%s", why)
	case s.MasterDone:
		return "", refusedf("the master has ended its work: nobody plans any more")
	case w != nil && w.Outstanding():
		return "the master is told at its next turn", nil
	default:
		return "the master is woken with it", nil
	}
}

// question is the oldest open question of a task's agent, or its tester's.
func (s *State) question(task string) *RequestView {
	for _, q := range s.open() {
		if q.Kind == wire.RequestAsk && q.AskedBy() == task {
			return q
		}
	}
	return nil
}

// passOn carries out what the master sends.
func (c *Conductor) passOn(ctx context.Context, q *RequestView) error {
	if q.Of != MasterTask {
		return c.refuse(ctx, q, "only who plans can write to others")
	}
	if q.Task == MasterTask || q.Task == "" {
		return c.refuse(ctx, q, "name the task whose agent is meant")
	}
	if c.st.carriedOut(q) {
		return c.answerTo(ctx, q, wire.Answer{Text: q.Task + " has it"})
	}
	becomes, err := c.Send(ctx, q.Task, q.Text, q.Agent())
	var no *RefusedError
	switch {
	case errors.As(err, &no):
		return c.refuse(ctx, q, no.Reason)
	case err != nil:
		return err
	}
	return c.answerTo(ctx, q, wire.Answer{Text: becomes})
}

// carriedOut reports whether what the master sends is in the log and only the answer to it is not: the conductor before was lost
// between the two. The same words can be sent twice, so that those that are answered are counted off.
func (s *State) carriedOut(q *RequestView) bool {
	said := wire.MessageOf(&contextscope.Event{Author: q.Agent(), Content: genai.NewContentFromText(q.Text, genai.RoleUser)}).Text
	n := 0
	for _, m := range s.Messages {
		if m.Task == q.Task && m.From == q.Agent() && m.Text == said {
			n++
		}
	}
	for _, id := range s.Asked {
		had := s.Requests[id]
		switch {
		case had.Answer == nil:
		case had.Kind == wire.RequestAsk && had.AskedBy() == q.Task && had.Answer.From == q.Agent() && had.Answer.Text == q.Text:
			n++
		case had.Kind == wire.RequestSend && had.Agent() == q.Agent() && had.Task == q.Task && had.Text == q.Text &&
			had.Answer.Refused == "":
			n--
		}
	}
	return n > 0
}

// tell speaks to the agent of a task that is at work: what it was sent and does not have, that it is cancelled, or that it is to
// stop. What gets lost is said again when the agent shows itself.
func (c *Conductor) tell(ctx context.Context, task string) {
	w := c.st.Works[task]
	if w == nil || w.Attempts[w.Last] == nil || w.Attempts[w.Last].Result != nil {
		return
	}
	a := w.Attempts[w.Last]
	switch {
	case a.Void:
		c.publish(ctx, wire.Control{Verb: wire.ControlCancel, Task: task, Attempt: w.Last, Text: c.st.reasonOf(task)})
		return
	case c.pausing:
		c.publish(ctx, wire.Control{Verb: wire.ControlStop, Task: task, Attempt: w.Last})
	}
	for _, m := range c.st.untold(task, w.Last) {
		c.publish(ctx, m.Control)
	}
}

// untold are the messages that an attempt's agent is to have and does not have.
func (s *State) untold(task string, attempt int) []*MessageView {
	return slices.DeleteFunc(slices.Clone(s.Messages), func(m *MessageView) bool {
		return m.Task != task || m.Pos <= s.messagesFrom(task, attempt) || m.heard(wire.AgentID(task, attempt))
	})
}

// messagesFrom is the position behind which the messages to an attempt begin. A master is told those before when it wakes.
func (s *State) messagesFrom(task string, attempt int) uint64 {
	if task != MasterTask {
		return 0
	}
	return s.calledAt(attempt)
}

func (s *State) reasonOf(task string) string {
	if t := s.Tasks[strings.TrimSuffix(task, verifySuffix)]; t != nil {
		return t.Reason
	}
	return ""
}

// publish sends a control message. It may be lost.
func (c *Conductor) publish(ctx context.Context, m wire.Control) {
	data, err := json.Marshal(m)
	if err == nil {
		err = c.cfg.Bus.Publish(ctx, bus.ControlSubject(c.cfg.Run), data)
	}
	if err != nil {
		c.cfg.Log.Warn().Err(err).Str("task", m.Task).Msg("an agent could not be spoken to; it is tried again")
	}
}
