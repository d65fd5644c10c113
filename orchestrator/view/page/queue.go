package page

import (
	"fmt"

	"divisi/internal/text"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

// maxQueued bounds the tasks that a queue names.
const maxQueued = 50

// Queue is the landing queue. Its JSON is a part of the dashboard's view.
type Queue struct {
	// Waiting are the first tasks of it, in the order in which they are tested; WaitingCount counts all.
	Waiting      []string `json:"waiting"`
	WaitingCount int      `json:"waiting_count"`
	// Limit is how many tasks the next batch may hold. Idle is why none is made of those that wait; empty where one can be.
	Limit   int       `json:"limit"`
	Idle    string    `json:"idle,omitempty"`
	Testing []Testing `json:"testing"`
	// Suspects are tasks that may be why a batch failed, the most likely first.
	Suspects []string `json:"suspects,omitempty"`
	// GateRuns counts the runs of gates on batches and on the final head; OneByOne is the least that one patch at a time takes.
	GateRuns int `json:"gate_runs"`
	OneByOne int `json:"gate_runs_one_by_one"`
}

// Testing is a batch whose gates are outstanding, or wait for those of the batch that it is built on.
type Testing struct {
	Batch int      `json:"batch"`
	Tasks []string `json:"tasks"`
	Set   string   `json:"set,omitempty"`
	// Since is when its newest gate run was dispatched, in unix milliseconds.
	Since int64 `json:"since"`
	// Search is the target of the search, where it is a part of a batch that failed.
	Search string `json:"search,omitempty"`
}

// queueOf makes the report of the landing queue.
func queueOf(s *run.State) Queue {
	waiting, suspects := landing.Waiting(s), landing.Suspects(s)
	q := Queue{
		Waiting: ids(waiting), WaitingCount: len(waiting), Limit: landing.Limit(s), Idle: landing.Idle(s), Testing: []Testing{},
		Suspects: ids(suspects), GateRuns: s.Batches.GateRuns, OneByOne: s.Tasks.Queued,
	}
	for _, b := range s.Batches.Testing {
		t := Testing{Batch: b.Number, Tasks: run.Names(b.Tasks), Set: b.Set}
		if a := s.Works[b.Work].At(b.Attempt); a != nil {
			t.Since = a.Dispatched
		}
		if landing.Searches(s, b) {
			t.Search = fmt.Sprintf("searches for the failing change among %s", text.Count(len(suspects), "task"))
		}
		q.Testing = append(q.Testing, t)
	}
	return q
}

// ids names the first of some tasks.
func ids(tasks []*run.Task) []string {
	out := []string{}
	for _, t := range tasks[:min(len(tasks), maxQueued)] {
		out = append(out, t.Task.ID)
	}
	return out
}
