package conductor

import (
	"context"
	"encoding/json"
	"strings"

	"divisi/bus"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// mail sends agents what they have not received.
type mail struct {
	*record
	*environments

	// active are the tasks whose agents have written an event since messages were last repeated to them.
	active map[string]bool
}

// tell publishes to the agent of an active work the messages that it has not received, that it is cancelled, or that it is to
// stop. A lost message is repeated when the agent writes its next event.
func (c *mail) tell(ctx context.Context, task string) {
	w := c.st.Works[task]
	if w == nil || w.Attempts[w.Last] == nil || w.Attempts[w.Last].Result != nil {
		return
	}
	a := w.Attempts[w.Last]
	switch {
	case a.Void && c.makes(task, w.Last):
		return
	case a.Void:
		c.publish(ctx, wire.Control{Verb: wire.ControlCancel, Task: task, Attempt: w.Last, Text: reasonOf(c.st, task)})
		return
	case c.pausing:
		c.publish(ctx, wire.Control{Verb: wire.ControlStop, Task: task, Attempt: w.Last})
	}
	for _, m := range request.Undelivered(&c.st.Agents, task, w.Last) {
		c.publish(ctx, m.Control)
	}
}

func reasonOf(s *run.State, task string) string {
	if t := s.Tasks.ByID[strings.TrimSuffix(task, run.VerifySuffix)]; t != nil {
		return t.Reason
	}
	return ""
}

// publish sends a control message. It may be lost.
func (c *record) publish(ctx context.Context, m wire.Control) {
	data, err := json.Marshal(m)
	if err == nil {
		err = c.cfg.Bus.Publish(ctx, bus.ControlSubject(c.cfg.Run), data)
	}
	if err != nil {
		c.cfg.Log.Warn().Err(err).Str("task", m.Task).Msg("a control message could not be sent; it is repeated later")
	}
}

// resend repeats to the agents that have written an event the messages that they may have missed.
func (c *mail) resend(ctx context.Context) {
	for task := range c.active {
		c.tell(ctx, task)
	}
	clear(c.active)
}

// resendAll repeats to every agent the messages that it may have missed.
func (c *mail) resendAll(ctx context.Context) {
	for id := range c.st.Queue {
		c.tell(ctx, id)
	}
}
