package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

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
	// Since is when its newest delivery began, Last when it was written about last, in unix milliseconds.
	Since int64 `json:"since"`
	Last  int64 `json:"last"`
}

// Agents lists the attempts that are with a worker, the longest first.
func Agents(s *run.State) []Agent {
	out := []Agent{}
	shared := sharedWords(s)
	for id, w := range s.Queue {
		a := w.Attempts[w.Last]
		if s.Status.Ended() || !w.Outstanding() || !a.Started || a.Stopped || a.Lacks != nil {
			continue
		}
		var words string
		switch group := shared[a.Group+" "+a.Worker]; {
		case w.Waits():
			words = awaited(newest(s, id, w.Last))
		case a.Group != "" && a.Doing == "" && group != "":
			words = group
		default:
			words = doing(s, a, programOf(s, id))
		}
		out = append(out, Agent{
			ID: wire.AgentID(id, w.Last), Task: id, Role: w.RoleAt(w.Last), Worker: a.Worker, Delivery: a.Delivery,
			Doing: words, Steps: a.Steps,
			Waits: w.Waits(), Turns: a.Turns, Tokens: a.Usage.Total(), Since: a.Began, Last: a.Seen,
		})
	}
	slices.SortFunc(out, func(a, b Agent) int { return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID)) })
	return out
}

// Listed is a task in a list: its state, and its activity, the reason of its wait, or its title.
type Listed struct{ ID, State, What string }

// List lists the tasks of a run, the master first.
func List(s *State) (out []Listed) {
	doing, why := map[string]string{}, schedule.Why(s)
	for _, a := range Agents(s) {
		doing[strings.TrimSuffix(a.Task, run.VerifySuffix)] = a.Doing
	}
	if s.Works[run.MasterTask] != nil {
		out = append(out, Listed{run.MasterTask, "", doing[run.MasterTask]})
	}
	for _, id := range s.Tasks.Order {
		t := s.Tasks.ByID[id]
		out = append(out, Listed{id, StatusOf(s, t), cmp.Or(doing[id], t.Reason, why[id], t.Task.Title)})
	}
	return out
}

// Worker is one that a run has, and how many attempts it is busy with. Its JSON is a part of the dashboard's view.
type Worker struct {
	Name   string `json:"name"`
	Agents int    `json:"agents"`
	// Since is when it came, in unix milliseconds.
	Since int64 `json:"since"`
}

// Workers lists the workers of a run that continues, by name.
func Workers(s *run.State, agents []Agent) []Worker {
	out := []Worker{}
	if s.Status.Ended() {
		return out
	}
	busy := map[string]int{}
	for _, a := range agents {
		busy[a.Worker]++
	}
	for _, name := range slices.Sorted(maps.Keys(s.Joined)) {
		out = append(out, Worker{name, busy[name], s.Joined[name].UnixMilli()})
	}
	return out
}

// sharedWords are the first reports of attempts about the processes that they share with others, by template and worker.
func sharedWords(s *run.State) map[string]string {
	words := map[string]string{}
	for _, w := range s.Queue {
		if a := w.Newest(); a.Group != "" && a.Doing != "" && w.Outstanding() {
			words[a.Group+" "+a.Worker] = a.Doing
		}
	}
	return words
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

// awaited words the request on which an agent waits.
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

// Name is the name of an agent or a task in a display: the two dashes of the conductor's own tasks mean nothing to a person.
func Name(id string) string { return strings.TrimPrefix(id, "--") }
