package view

import (
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Row is a run in the list of all.
type Row struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Goal   string `json:"goal,omitempty"`
	Repo   string `json:"repo,omitempty"`
	// Created, Ended and Last are unix milliseconds: the begin, the end, the newest event; 0 for none.
	Created int64       `json:"created,omitempty"`
	Ended   int64       `json:"ended,omitempty"`
	Last    int64       `json:"last,omitempty"`
	Tokens  int         `json:"tokens"`
	Budget  spec.Budget `json:"budget,omitzero"`
	// Tasks counts all of the plan, EndedTasks those that will not change any more.
	Tasks      int `json:"tasks"`
	EndedTasks int `json:"ended_tasks"`
	Landed     int `json:"landed"`
	// Unchanged counts the tasks that ended without a change.
	Unchanged int `json:"unchanged"`
	Parked    int `json:"parked"`
	// Wait describes the person's task that the run waits for, Line why a person stopped the line.
	Wait      string `json:"wait,omitempty"`
	Line      string `json:"line,omitempty"`
	Decisions int    `json:"decisions"`
	Active    bool   `json:"active"`
	Problem   string `json:"problem,omitempty"`
	// Gone reports that the run was removed; nothing else is set then.
	Gone bool `json:"gone,omitempty"`
}

// RowOf makes the row of a run that is followed.
func RowOf(s *run.State) Row {
	r := Row{
		ID: s.Spec.Run, State: Status(s), Reason: s.Reason, Goal: s.Spec.Goal, Repo: s.Spec.Repo,
		Created: Milliseconds(s.Spec.Created), Ended: Milliseconds(s.Ended), Last: Milliseconds(s.Time),
		Tokens: s.Usage.Total(), Budget: s.Budget, Tasks: len(s.Tasks.Order), Wait: s.Wait.For, Line: s.Line,
	}
	if r.Goal == "" && s.Spec.Plan != nil {
		r.Goal = s.Spec.Plan.Goal
	}
	for t := range s.Tasks.All() {
		r.count(t.State, t.Ended())
	}
	return r
}

// RowIn makes the row of a run that is not active from its report. The state is the word that `divisi runs` prints.
func RowIn(id, state string, p *Report) Row {
	r := Row{
		ID: id, State: state, Reason: p.Reason, Goal: p.Goal, Repo: p.Repo, Created: Milliseconds(p.Created),
		Ended: Milliseconds(p.Ended), Last: Milliseconds(p.Last),
		Wait: p.Wait, Line: p.Line, Tokens: p.Usage.Total(), Budget: p.Budget, Tasks: len(p.Tasks), Decisions: len(p.Decisions),
	}
	for i := range p.Tasks {
		r.count(p.Tasks[i].State, (&run.Task{State: p.Tasks[i].State}).Ended())
	}
	return r
}

func (r *Row) count(state run.TaskState, ended bool) {
	if ended {
		r.EndedTasks++
	}
	switch state {
	case run.TaskLanded:
		r.Landed++
	case run.TaskDone:
		r.Unchanged++
	case run.TaskParked:
		r.Parked++
	}
}

// Milliseconds is a time in unix milliseconds; 0 for none.
func Milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
