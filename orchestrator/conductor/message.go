package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Send puts a message to the agents of a task, or to the master where task is empty. It is in the log before anybody is told.
// Where an agent of the task waits with a question it is the answer to it, the oldest first. The words that are returned say what
// becomes of it; the error is a *RefusedError where it can reach nobody.
func (c *Conductor) Send(ctx context.Context, task, words, from string) (string, error) {
	if task == "" {
		task = run.MasterTask
	}
	if err := request.Reachable(c.st, task, words); err != nil {
		return "", err
	}
	if q := request.Question(c.st, task); q != nil {
		return fmt.Sprintf("answers the question of %s: %s", q.Agent(), text.Line(q.Question)),
			c.answerTo(ctx, q, wire.Answer{Text: words, From: from})
	}
	becomes, err := request.DeliveryOf(c.st, task)
	if err != nil {
		return "", err
	}
	if err := c.write(ctx, task, words, from); err != nil {
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

// passOn carries out what the master sends.
func (c *Conductor) passOn(ctx context.Context, q *run.Request) error {
	if q.Of != run.MasterTask {
		return c.refuse(ctx, q, "only who plans can write to others")
	}
	if q.Task == run.MasterTask || q.Task == "" {
		return c.refuse(ctx, q, "name the task whose agent is meant")
	}
	if request.Sent(c.st, q) {
		return c.answerTo(ctx, q, wire.Answer{Text: q.Task + " has it"})
	}
	becomes, err := c.Send(ctx, q.Task, q.Text, q.Agent())
	var no *request.RefusedError
	switch {
	case errors.As(err, &no):
		return c.refuse(ctx, q, no.Reason)
	case err != nil:
		return err
	}
	return c.answerTo(ctx, q, wire.Answer{Text: becomes})
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
		c.publish(ctx, wire.Control{Verb: wire.ControlCancel, Task: task, Attempt: w.Last, Text: reasonOf(c.st, task)})
		return
	case c.pausing:
		c.publish(ctx, wire.Control{Verb: wire.ControlStop, Task: task, Attempt: w.Last})
	}
	for _, m := range request.Undelivered(c.st, task, w.Last) {
		c.publish(ctx, m.Control)
	}
}

func reasonOf(s *run.State, task string) string {
	if t := s.Tasks[strings.TrimSuffix(task, run.VerifySuffix)]; t != nil {
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
