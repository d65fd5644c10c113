package request

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// RefusedError reports that a run cannot do a request, why, and what to do instead.
type RefusedError struct {
	Reason string
	// Over is set where the run has ended.
	Over bool
}

// Error is the reason.
func (e *RefusedError) Error() string { return e.Reason }

// Refusedf makes a *RefusedError.
func Refusedf(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// MaxMessage bounds a message to an agent, in bytes.
const MaxMessage = 32 << 10

// Over returns why nothing of a run can be decided any more, as a *RefusedError; nil while something can.
func Over(agenda *run.Agenda) error {
	if agenda.Status.Ended() && agenda.Status != run.Stopped {
		return &RefusedError{fmt.Sprintf("run %s is over: %s", agenda.Spec.Run, agenda.Status), true}
	}
	return nil
}

// reachable returns why no agent can receive a message, as a *RefusedError.
func reachable(agenda *run.Agenda, task, text string) error {
	switch {
	case strings.TrimSpace(text) == "" || !utf8.ValidString(text):
		return Refusedf("the message is empty, or no text")
	case len(text) > MaxMessage:
		return Refusedf("the message has %d bytes; at most %d are allowed", len(text), MaxMessage)
	case Over(agenda) != nil:
		return Over(agenda)
	case task == run.MasterTask && agenda.Spec.Plan != nil:
		return Refusedf("run %s has a plan file and no master: name a task, as %s/TASK", agenda.Spec.Run, agenda.Spec.Run)
	case task != run.MasterTask && agenda.Tasks.ByID[task] == nil:
		return unknown(agenda, task)
	}
	return nil
}

// deliveryOf returns when a task's agent receives a message; the error is a *RefusedError where no agent can.
func deliveryOf(agenda *run.Agenda, agents *run.Agents, id string) (string, error) {
	if id == run.MasterTask {
		return masterDelivery(agents)
	}
	t := agenda.Tasks.ByID[id]
	role := agenda.Spec.Roles[t.Task.Role]
	switch {
	case t.Ended():
		return "", Refusedf("%s has ended and is %s: no agent works on it any more", id, t.State)
	case !role.Runs(spec.ExecutorModel):
		return "", Refusedf("%s runs a command, not a model: it cannot receive messages", id)
	case t.State == run.TaskRunning && spokenTo(&agenda.Spec, agents.Works, t):
		return wire.AgentID(id, t.Attempt) + " receives it at its next turn", nil
	case t.State == run.TaskPending:
		return id + " receives it when its next attempt begins", nil
	default:
		return fmt.Sprintf("%s is %s: its next attempt, if there is one, receives it", id, t.State), nil
	}
}

// spokenTo reports whether a model runs the task's newest attempt.
func spokenTo(order *run.Spec, works run.Works, t *run.Task) bool {
	return order.Made(t, works).Executor == spec.ExecutorModel
}

func masterDelivery(agents *run.Agents) (string, error) {
	w := agents.Works[run.MasterTask]
	switch why := agents.Master.GaveUp(); {
	case why != "":
		return "", Refusedf("%s", why)
	case agents.Master.Done:
		return "", Refusedf("the master has ended its work and receives no messages")
	case w.Outstanding():
		return "the master receives it at its next turn", nil
	default:
		return "message delivered; the master reads it in its next turn", nil
	}
}

// question is the oldest open question of a task's agent, or its tester's.
func question(tasks *run.Tasks, agents *run.Agents, task string) *run.Request {
	for _, q := range agents.OpenRequests(tasks) {
		if q.Kind == wire.RequestAsk && q.AskedBy() == task {
			return q
		}
	}
	return nil
}

// sent reports whether what the master sends is in the log and only the answer to it is not: the conductor before stopped
// between the two. The same words can be sent twice, so that those that are answered are counted off.
func sent(decisions run.Decisions, agents *run.Agents, q *run.Request) bool {
	said := wire.MessageOf(&contextscope.Event{Author: q.Agent(), Content: genai.NewContentFromText(q.Text, genai.RoleUser)}).Text
	n := decided(decisions, q, q.Text)
	if q.Accept {
		n = decided(decisions, q, "")
	}
	for _, m := range agents.Messages.To(q.Task, 0) {
		if m.From == q.Agent() && m.Text == said {
			n++
		}
	}
	for _, had := range slices.Backward(agents.Requests.Of[q.Of]) {
		if had.Attempt < q.Attempt {
			break
		}
		same := had.Kind == wire.RequestSend && had.Task == q.Task && had.Text == q.Text && had.Accept == q.Accept
		if same && had.Answer != nil && had.Answer.Refused == "" {
			n--
		}
	}
	return n > 0
}

// Undelivered are the messages that an attempt's agent is to have and does not have.
func Undelivered(agents *run.Agents, task string, attempt int) []*run.Message {
	agent := wire.AgentID(task, attempt)
	return slices.DeleteFunc(slices.Clone(agents.Messages.To(task, messagesFrom(agents.Works, task, attempt))),
		func(m *run.Message) bool {
			return m.ReachedAgent(agent)
		})
}

// messagesFrom is the position behind which the messages to an attempt begin. A master reads the older ones when it is woken.
func messagesFrom(works run.Works, task string, attempt int) uint64 {
	if task != run.MasterTask {
		return 0
	}
	return works.CalledAt(attempt)
}
