package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Status is the run's status for people: a run that waits for a person is waiting, one that waits for its machine is paused,
// whatever its phase.
func Status(s *run.State) string {
	switch {
	case s.Wait.For != "":
		return "waiting"
	case s.Halted():
		return "paused"
	default:
		return string(s.Status)
	}
}

// Row is one task as a table shows it. Its texts may be foreign: a display makes them safe.
type Row struct {
	ID, Title, Role string
	State           run.TaskState
	// Reason is why the task is in its state.
	Reason string
	// Attempt is the newest attempt's number, Tokens what all of them used.
	Attempt, Tokens int
	// Added and Deleted count lines, Files files, of what landed as Commit.
	Added, Deleted, Files int
	Commit                string
	// Unverified reports that it landed without proof.
	Unverified bool
	// Took is the wall clock of all attempts; 0 when it is not known.
	Took time.Duration
}

// Status is the task's state for people.
func (r Row) Status() string {
	if r.Unverified {
		return string(r.State) + " unverified"
	}
	return string(r.State)
}

// Rows returns the planned tasks in plan order.
func Rows(s *run.State) []Row {
	out := make([]Row, 0, len(s.Tasks.Order))
	for _, id := range s.Tasks.Order {
		out = append(out, RowOf(s, s.Tasks.ByID[id]))
	}
	return out
}

// RowOf returns the row of a task.
func RowOf(s *run.State, t *run.Task) Row {
	id := t.Task.ID
	return Row{
		ID: id, Title: t.Task.Title, Role: t.Task.Role, State: t.State, Reason: t.Reason, Attempt: t.Attempt,
		Tokens: s.Works.Used(id).Total(), Commit: t.Commit, Added: t.Landed.Added,
		Deleted: t.Landed.Deleted, Files: t.Landed.Files,
		Unverified: t.State == run.TaskLanded && t.Landed.Unverified != "",
	}
}

// Agent is an attempt that is with a worker. Its JSON is a part of the dashboard's view.
type Agent struct {
	ID       string `json:"id"`
	Task     string `json:"task"`
	Role     string `json:"role"`
	Worker   string `json:"worker"`
	Delivery int    `json:"delivery"`
	Doing    string `json:"doing"`
	// Steps are its own plan.
	Steps []spec.Step `json:"steps,omitempty"`
	// Waits reports that it waits for others.
	Waits  bool `json:"waits,omitempty"`
	Turns  int  `json:"turns"`
	Tokens int  `json:"tokens"`
	// Since is when its newest delivery began, in unix milliseconds.
	Since int64 `json:"since"`
}

// Agents lists the attempts that are with a worker, the longest first.
func Agents(s *run.State) []Agent {
	out := []Agent{}
	for id, w := range s.Queue {
		a := w.Attempts[w.Last]
		if s.Status.Ended() || !w.Outstanding() || !a.Started || a.Stopped || a.Lacks != nil {
			continue
		}
		doing := a.Doing
		switch {
		case w.Waits():
			doing = awaited(newest(s, id, w.Last))
		case a.Turns == 0 && doing == "":
			doing = "starting"
		}
		out = append(out, Agent{
			ID: wire.AgentID(id, w.Last), Task: id, Role: w.RoleAt(w.Last), Worker: a.Worker, Delivery: a.Delivery,
			Doing: doing, Steps: a.Steps,
			Waits: w.Waits(), Turns: a.Turns, Tokens: a.Usage.Total(), Since: a.Began,
		})
	}
	slices.SortFunc(out, func(a, b Agent) int { return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID)) })
	return out
}

// newest is the newest request without an answer of an attempt.
func newest(s *run.State, id string, attempt int) wire.Request {
	for _, q := range slices.Backward(s.Requests.Of[id]) {
		if q.Attempt == attempt && q.Answer == nil && !q.Begun {
			return q.Request
		}
	}
	return wire.Request{}
}

// awaited words what an agent waits for.
func awaited(q wire.Request) string {
	switch q.Kind {
	case wire.RequestAsk:
		return "waits for an answer: " + q.Question
	case wire.RequestWait:
		return "waits for its tasks in the background"
	case wire.RequestDelegate:
		return "waits for a " + q.Role + ": " + cmp.Or(q.Title, q.Brief)
	default:
		return "asks for " + q.Kind
	}
}

// Said lists what an agent, and its tester, reported beside their results: broken constraints, deviations, findings.
func Said(result, tester *spec.Result) []string {
	return slices.Concat(saidIn(result, ""), saidIn(tester, "its judge: "))
}

func saidIn(r *spec.Result, by string) []string {
	var t Task
	t.tellHandoff(r, by)
	var out []string
	for _, c := range t.Broken {
		out = append(out, "broken constraint "+c.Text+": "+c.Note)
	}
	for _, d := range t.Deviations {
		out = append(out, "deviation: "+d)
	}
	for _, f := range t.Findings {
		out = append(out, "finding: "+f)
	}
	return out
}

// Name is what a display calls an agent or a task: the two dashes of the conductor's own tasks mean nothing to a person.
func Name(id string) string { return strings.TrimPrefix(id, "--") }

// isRed reports whether a gate failed beyond the baseline.
func isRed(r spec.Receipt) bool {
	return r.Verdict == spec.VerdictFail || r.Verdict == spec.VerdictUnattributable
}
