package run

import (
	"cmp"
	"maps"
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

// Revision changes a task that has not landed. It begins again with it, and what failed before does not count.
type Revision struct {
	// ID is that of the request where an agent made it.
	ID string `json:"id,omitempty"`
	// By is the identity of a person or an attempt of the master.
	By string `json:"by"`
	// Brief, Role and Model replace those of the task where they are set; Files and what is below it where it is not nil.
	// Words end its brief.
	Brief       string    `json:"brief,omitempty"`
	Comment     string    `json:"words,omitempty"`
	Role        string    `json:"role,omitempty"`
	Model       string    `json:"model,omitempty"`
	Files       *[]string `json:"files,omitempty"`
	Unlocked    []string  `json:"unlocked,omitempty"`
	Constraints *[]string `json:"constraints,omitempty"`
	Command     *[]string `json:"command,omitempty"`
	DependsOn   *[]string `json:"depends_on,omitempty"`
	Inputs      *[]string `json:"inputs,omitempty"`
	Creates     *[]string `json:"creates,omitempty"`
	Remaining   *string   `json:"remaining,omitempty"`
}

// Order is a task with what the revision has it wait for.
func (r *Revision) Order(t spec.Task) spec.Task {
	if r.DependsOn != nil {
		t.DependsOn = *r.DependsOn
	}
	if r.Inputs != nil {
		t.Inputs = *r.Inputs
	}
	return t
}

// Revise returns a brief after a revision.
func (r *Revision) Revise(had string) string {
	if had = cmp.Or(r.Brief, had); r.Comment != "" {
		had += "\n\n" + r.Comment
	}
	return had
}

// Changes reports whether a revision has more than that its task begins again.
func (r *Revision) Changes() bool {
	return r.Brief+r.Comment+r.Role+r.Model != "" || r.Files != nil || r.Constraints != nil || r.Command != nil ||
		r.DependsOn != nil || r.Inputs != nil || r.Creates != nil || r.Remaining != nil
}

// Recent are the failures of a task since it was revised, oldest first.
func (t *Task) Recent() []AttemptFault { return t.Faults[t.Fresh:] }

// revise folds that a task begins again, after it was set to pending.
func (t *Task) revise(r *Revision, order *Spec) {
	t.Revisions, t.Revised = append(t.Revisions, *r), t.Attempt
	t.Task.Brief, t.Model = r.Revise(t.Task.Brief), cmp.Or(r.Model, t.Model)
	if r.Role != "" && r.Role != t.Task.Role {
		t.become(r.Role, order)
	}
	if r.Files != nil {
		t.Task.Files, t.Task.Unlocked, t.Named = *r.Files, r.Unlocked, *r.Files
	}
	if r.Constraints != nil {
		t.Task.Constraints = *r.Constraints
	}
	if r.Command != nil {
		t.command = *r.Command
		if t.Task.Command = *r.Command; len(*r.Command) == 0 {
			t.Task.Command = order.Roles[t.Task.Role].Command
		}
	}
	if r.Creates != nil {
		t.Task.Creates = *r.Creates
	}
	if r.Remaining != nil {
		t.Task.Remaining = *r.Remaining
	}
	t.Task = r.Order(t.Task)
	t.After = t.Task.Dependencies()
	t.Fresh, t.Choice, t.Next, t.Waited, t.Before = len(t.Faults), Choice{}, Choice{}, false, len(t.Rounds)
}

// become gives a task another role. Limits and command are those of the role that it has now, where that names some.
func (t *Task) become(name string, order *Spec) {
	role := order.Roles[name]
	t.command = t.OwnCommand(order)
	t.Task.Role, t.Task.Command, t.Task.Limits = name, role.Command, role.Limits.Or(t.Task.Limits)
	if len(role.Command) == 0 && role.Runs(spec.ExecutorCommand) {
		t.Task.Command = t.command
	}
}

// OwnCommand is the command that the task has for a role without one; nil for none.
func (t *Task) OwnCommand(order *Spec) []string {
	if had := order.Roles[t.Task.Role].Command; len(t.Task.Command) > 0 && !slices.Equal(t.Task.Command, had) {
		return t.Task.Command
	}
	return t.command
}

// reread folds that the files of roles and of the project have changed. Tasks have the command and the limits of their roles.
func (s *Spec) reread(d Data, tasks *Tasks) {
	if d.Project != nil {
		s.Project = *d.Project
	}
	if d.File != nil {
		s.Plan = d.File
	}
	if len(d.Roles) == 0 {
		return
	}
	for _, t := range tasks.ByID {
		if role, changed := d.Roles[t.Task.Role]; changed {
			t.Task = t.Task.Renewed(s.Roles[t.Task.Role], role)
		}
	}
	s.Roles = maps.Clone(s.Roles)
	maps.Copy(s.Roles, d.Roles)
}
