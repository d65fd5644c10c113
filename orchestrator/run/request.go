package run

import (
	"slices"
	"strconv"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// SplitAgent is the task and the attempt of an agent; ok is false for other authors.
func SplitAgent(agent string) (task string, attempt int, ok bool) {
	task, n, found := strings.Cut(agent, "/")
	attempt, err := strconv.Atoi(n)
	return task, attempt, found && err == nil
}

// Requests are those of agents.
type Requests struct {
	// Order has the ids of ByID in the order of the log.
	ByID  map[string]*Request
	Order []string
	// Unanswered are those without an answer, oldest first; Of has all by the queue id whose agents ask.
	Unanswered []*Request
	Of         map[string][]*Request
	// Refused are the refused ones for more to write that no task followed yet.
	Refused []*Request
}

// Request is one request of an agent, with its answer.
type Request struct {
	wire.Request

	// Of is the task, or its tester, whose agent asks, Attempt the attempt. Pos is its place in the log, Seq in its session.
	Of      string
	Attempt int
	Pos     uint64
	Seq     int
	// Child is the task that was made of it; "" for none.
	Child string
	// Begun reports that the child runs in the background and its agent continues.
	Begun bool
	// Answer is nil while the request is open.
	Answer *wire.Answer
}

// Agent is the agent that asks.
func (q *Request) Agent() string { return wire.AgentID(q.Of, q.Attempt) }

// AskedBy is the task whose agent, or whose tester's agent, asks.
func (q *Request) AskedBy() string { return strings.TrimSuffix(q.Of, VerifySuffix) }

func (r *Requests) apply(e *contextscope.Event, a *Attempt, d wire.Request) {
	if a.Attempt == 0 || d.ID == "" || r.ByID[d.ID] != nil {
		return
	}
	q := &Request{Request: d, Of: e.Task, Attempt: e.Attempt, Pos: e.Pos, Seq: e.Seq}
	r.ByID[d.ID] = q
	r.Order = append(r.Order, d.ID)
	r.Unanswered, r.Of[q.Of] = append(r.Unanswered, q), append(r.Of[q.Of], q)
	a.Open++
}

// ofMaster are the requests that only the master makes; agents may ask it as often as they like.
var ofMaster = []string{wire.RequestSend, wire.RequestRevise, wire.RequestCancel}

// applyAnswer folds the answer to a request. A write set grows here and nowhere else.
func (s *State) applyAnswer(e *contextscope.Event, d wire.Answer) {
	q := s.Requests.ByID[d.Request]
	if q == nil || q.Answer != nil || d.Begun && q.Begun {
		return
	}
	a := s.Works.Attempt(q.Of, q.Attempt)
	if a != nil && !q.Begun {
		a.Open--
		a.Doing = ""
	}
	if d.Begun {
		q.Begun = true
		return
	}
	if q.Answer = &d; d.From != "" {
		s.applyDecided(e, q.answered(d), nil)
	}
	s.Requests.Unanswered = slices.DeleteFunc(s.Requests.Unanswered, func(other *Request) bool { return other == q })
	if q.Kind == wire.RequestScope && d.Refused != "" && s.Tasks.ByID[q.Of] != nil {
		s.Requests.Refused = append(s.Requests.Refused, q)
	}
	if slices.Contains(ofMaster, q.Kind) && d.Refused == "" {
		s.Master.Turns = 0
	}
	if t := s.Tasks.ByID[q.Of]; t != nil && len(d.Granted) > 0 {
		t.Task.Files = slices.Concat(t.Task.Files, d.Granted)
		t.Task.Unlocked, t.Named = slices.Concat(t.Task.Unlocked, d.Unlocked), slices.Concat(t.Named, d.Unlocked)
	}
}

// child folds the plan that was made of a request: one task, whose parent is the one whose agent asked.
func (r *Requests) child(d PlanData, tasks *Tasks) {
	q := r.ByID[d.Request]
	if q == nil || len(d.Tasks) == 0 {
		return
	}
	q.Child = d.Tasks[0].ID
	t, parent := tasks.ByID[q.Child], tasks.ByID[q.Of]
	if parent != nil {
		t.Parent, t.Depth, t.Grant = q.Of, parent.Depth+1, d.Grant
	}
}

// handOver folds that the newest attempt gave its task to another role, by a request.
func (t *Task) handOver(q *Request, role string, order *Spec) {
	h := Handover{Attempt: t.Attempt, Role: t.Task.Role}
	if q != nil {
		h.Brief = q.Brief
	}
	if t.Result != nil {
		h.Patch = t.Result.Patch
	}
	t.Handovers, t.Next = append(t.Handovers, h), Choice{}
	t.become(role, order)
}

// Transfer is the request with which the agent of a task's newest attempt handed it over; nil when it did not.
func (r *Requests) Transfer(t *Task) *Request {
	for _, q := range slices.Backward(r.Of[t.Task.ID]) {
		if q.Attempt == t.Attempt && q.Kind == wire.RequestTransfer && q.Answer != nil && q.Answer.Refused == "" {
			return q
		}
	}
	return nil
}

// For is the request that a task was made of; nil for one of a plan.
func (r *Requests) For(t *Task) *Request {
	for _, q := range r.Of[t.Parent] {
		if q.Child == t.Task.ID {
			return q
		}
	}
	return nil
}

// Used is the usage of the attempts of a task and of its testers.
func (w Works) Used(id string) (sum spec.Usage) {
	for _, of := range []string{id, id + VerifySuffix} {
		if work := w[of]; work != nil {
			for _, a := range work.Attempts {
				sum = sum.Add(a.Usage)
			}
		}
	}
	return sum
}

// LeastTokens is the smallest share of a limit with which a task starts: no agent reaches a result with less.
const LeastTokens = 4096

// Account is the usage of a task with all that its agents delegated.
func (r *Requests) Account(id string, w Works) spec.Usage { return w.Used(id).Add(r.Delegated(id, w)) }

// Delegated is the usage of the tasks that the agents of a task delegated.
func (r *Requests) Delegated(id string, w Works) spec.Usage {
	var sum spec.Usage
	for _, q := range r.Of[id] {
		if q.Child != "" {
			sum = sum.Add(r.Account(q.Child, w))
		}
	}
	return sum
}
