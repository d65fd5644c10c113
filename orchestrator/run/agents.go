package run

import (
	"slices"
	"time"

	"divisi/internal/spec"
)

// Agents are those of the run: their attempts, what they ask, are told and use, and what was decided.
type Agents struct {
	// Works are the attempts of everything that was ever on the queue, by queue id. Queue are the works that have not ended.
	Works Works
	Queue Queue
	// Epoch counts the conductors; Began is the position of the event with which the present one began.
	Epoch    int
	Began    uint64
	Requests Requests
	Messages Messages
	Master   Master
	// Decisions are the answers to decisions, Standing those that stand for later decisions too.
	Decisions Decisions
	Standing  Standings
	// Unlike are, by task, edits that landed and turned out to be made by no other shard.
	Unlike map[string][]Unlike
	// Later are the tasks that wait for what their commands need before these run once more, by id, each since when.
	Later  map[string]time.Time
	Budget int
	Usage  spec.Usage
	// Spent is the use of each worker, in tokens.
	Spent  map[string]int
	Quotas Quotas
}

func newAgents() Agents {
	return Agents{
		Works: Works{}, Queue: Queue{}, Later: map[string]time.Time{}, Spent: map[string]int{}, Quotas: Quotas{},
		Requests: Requests{ByID: map[string]*Request{}, Of: map[string][]*Request{}},
		Messages: Messages{to: map[string][]*Message{}}, Decisions: Decisions{}, Unlike: map[string][]Unlike{},
	}
}

// Busy lists the works whose newest attempt a worker runs and which have not stopped at a turn, but for what nothing waits for.
func (s *Agents) Busy() (ids []string) {
	for id, w := range s.Queue {
		a := w.Attempts[w.Last]
		if id != FlakesTask && w.Outstanding() && !w.Waits() && a.StartedPos > s.Began && !a.Stopped && a.Lacks == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// OutOfBudget reports whether the run has spent its budget.
func (s *Agents) OutOfBudget() bool { return s.Budget > 0 && s.Usage.Total() >= s.Budget }

// Quiet reports whether every task has ended and nothing is on the queue.
func (s *Agents) Quiet(tasks *Tasks) bool {
	all, _ := s.Queue.AtWork()
	return all+s.Queue.Waiting() == 0 && tasks.AllEnded()
}

// Alive reports whether the agent of a request still waits for the answer.
func (s *Agents) Alive(q *Request, tasks *Tasks) bool {
	w := s.Works[q.Of]
	if q.Answer != nil || !w.Outstanding() || w.Last != q.Attempt {
		return false
	}
	t := tasks.ByID[q.AskedBy()]
	return t == nil || !t.Ended()
}

// OpenRequests lists the requests whose agents still wait, oldest first.
func (s *Agents) OpenRequests(tasks *Tasks) []*Request {
	return slices.DeleteFunc(slices.Clone(s.Requests.Unanswered), func(q *Request) bool { return !s.Alive(q, tasks) })
}
