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
func Over(s *run.State) error {
	if s.Status.Ended() && s.Status != run.Stopped {
		return &RefusedError{fmt.Sprintf("run %s is over: %s", s.Spec.Run, s.Status), true}
	}
	return nil
}

// reachable returns why no agent can receive a message, as a *RefusedError.
func reachable(s *run.State, task, text string) error {
	switch {
	case strings.TrimSpace(text) == "" || !utf8.ValidString(text):
		return Refusedf("the message is empty, or no text")
	case len(text) > MaxMessage:
		return Refusedf("the message has %d bytes; at most %d are allowed", len(text), MaxMessage)
	case Over(s) != nil:
		return Over(s)
	case task == run.MasterTask && s.Spec.Plan != nil:
		return Refusedf("run %s has a plan file and no master: name a task, as %s/TASK", s.Spec.Run, s.Spec.Run)
	case task != run.MasterTask && s.Tasks.ByID[task] == nil:
		return unknown(s, task)
	}
	return nil
}

// deliveryOf returns when a task's agent receives a message; the error is a *RefusedError where no agent can.
func deliveryOf(s *run.State, id string) (string, error) {
	if id == run.MasterTask {
		return masterDelivery(s)
	}
	t := s.Tasks.ByID[id]
	role := s.Spec.Roles[t.Task.Role]
	switch {
	case t.Ended():
		return "", Refusedf("%s has ended and is %s: no agent works on it any more", id, t.State)
	case !role.Runs(spec.ExecutorModel):
		return "", Refusedf("%s runs a command, not a model: it cannot receive messages", id)
	case t.State == run.TaskRunning && spokenTo(s, t):
		return wire.AgentID(id, t.Attempt) + " receives it at its next turn", nil
	case t.State == run.TaskPending:
		return id + " receives it when its next attempt begins", nil
	default:
		return fmt.Sprintf("%s is %s: its next attempt, if there is one, receives it", id, t.State), nil
	}
}

// spokenTo reports whether a model runs the task's newest attempt.
func spokenTo(s *run.State, t *run.Task) bool {
	return s.Spec.Made(t, s.Works).Executor == spec.ExecutorModel
}

func masterDelivery(s *run.State) (string, error) {
	w := s.Works[run.MasterTask]
	switch why := s.Master.GaveUp(); {
	case why != "":
		return "", Refusedf("%s", why)
	case s.Master.Done:
		return "", Refusedf("the master has ended its work and receives no messages")
	case w.Outstanding():
		return "the master receives it at its next turn", nil
	default:
		return "message delivered; the master reads it in its next turn", nil
	}
}

// question is the oldest open question of a task's agent, or its tester's.
func question(s *run.State, task string) *run.Request {
	for _, q := range s.OpenRequests(&s.Tasks) {
		if q.Kind == wire.RequestAsk && q.AskedBy() == task {
			return q
		}
	}
	return nil
}

// sent reports whether what the master sends is in the log and only the answer to it is not: the conductor before stopped
// between the two. The same words can be sent twice, so that those that are answered are counted off.
func sent(s *run.State, q *run.Request) bool {
	said := wire.MessageOf(&contextscope.Event{Author: q.Agent(), Content: genai.NewContentFromText(q.Text, genai.RoleUser)}).Text
	n := decided(s, q, q.Text)
	if q.Accept {
		n = decided(s, q, "")
	}
	for _, m := range s.Messages.To(q.Task, 0) {
		if m.From == q.Agent() && m.Text == said {
			n++
		}
	}
	for _, had := range slices.Backward(s.Requests.Of[q.Of]) {
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
func Undelivered(s *run.State, task string, attempt int) []*run.Message {
	agent := wire.AgentID(task, attempt)
	return slices.DeleteFunc(slices.Clone(s.Messages.To(task, messagesFrom(s, task, attempt))), func(m *run.Message) bool {
		return m.ReachedAgent(agent)
	})
}

// messagesFrom is the position behind which the messages to an attempt begin. A master reads the older ones when it is woken.
func messagesFrom(s *run.State, task string, attempt int) uint64 {
	if task != run.MasterTask {
		return 0
	}
	return s.Works.CalledAt(attempt)
}
