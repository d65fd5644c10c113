package page

import (
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
)

// Task is a task with its attempts.
type Task struct {
	Task     taskFacts      `json:"task"`
	Attempts []attemptFacts `json:"attempts"`
	// Acts are the names of the acts that it is offered now.
	Acts []string `json:"acts"`
}

// Acts are the names of the acts that a page offers for a task, or for a run, which is "". The master is acted on as its run.
func Acts(s *run.State, active bool, task string) []string {
	names, t := []string{}, s.Tasks.ByID[task]
	if t == nil && task != "" {
		return names
	}
	for _, e := range act.Offers(act.Page, s, act.Of(s, active), t) {
		names = append(names, e.Name)
	}
	return names
}

// taskFacts are the work of a task, and its place.
type taskFacts struct {
	TaskRow

	Brief       string   `json:"brief"`
	Constraints []string `json:"constraints,omitempty"`
	Files       []string `json:"files,omitempty"`
	Depends     []string `json:"depends,omitempty"`
	Command     []string `json:"command,omitempty"`
	Commit      string   `json:"commit,omitempty"`
	// Doubts are why its patches were held, oldest first.
	Doubts []string `json:"doubts,omitempty"`
}

// attemptFacts are one attempt. Times are unix milliseconds, 0 for not yet.
type attemptFacts struct {
	N          int            `json:"n"`
	Role       string         `json:"role"`
	Worker     string         `json:"worker,omitempty"`
	Dispatched int64          `json:"dispatched"`
	Began      int64          `json:"began"`
	Ended      int64          `json:"ended"`
	Status     spec.Status    `json:"status,omitempty"`
	Error      *spec.Fault    `json:"error,omitempty"`
	Doing      string         `json:"doing,omitempty"`
	Summary    string         `json:"summary,omitempty"`
	Findings   []string       `json:"findings,omitempty"`
	Deviations []string       `json:"deviations,omitempty"`
	Files      []string       `json:"files,omitempty"`
	Added      int            `json:"added"`
	Deleted    int            `json:"deleted"`
	Patch      bool           `json:"patch,omitempty"`
	Tokens     int            `json:"tokens"`
	Turns      int            `json:"turns"`
	Receipts   []receiptFacts `json:"receipts,omitempty"`
}

// receiptFacts are one run of a gate.
type receiptFacts struct {
	Gate       string `json:"gate"`
	Verdict    string `json:"verdict"`
	DurationMS int64  `json:"duration_ms"`
}

// OfTask makes the page of a task; it reports false where the plan has none of the name.
func OfTask(s *run.State, id string) (Task, bool) {
	t, w := s.Tasks.ByID[id], s.Works[id]
	var page Task
	switch {
	case t != nil:
		page.Task = factsOf(s, t)
	case w != nil && id == run.MasterTask:
		page.Task.TaskRow = rowOfMaster(s, w)
	default:
		return page, false
	}
	if w == nil {
		return page, true
	}
	for n := 1; n <= w.Last; n++ {
		if a := w.Attempts[n]; a != nil {
			page.Attempts = append(page.Attempts, attemptOf(s, id, a))
		}
	}
	return page, true
}

func factsOf(s *run.State, t *run.Task) taskFacts {
	f := taskFacts{
		TaskRow: rowOfTask(s, t), Brief: t.Task.Brief, Constraints: t.Task.Constraints, Files: t.Task.Files, Depends: t.After,
		Command: t.Task.Command, Commit: t.Commit,
	}
	for _, d := range t.Doubts {
		f.Doubts = append(f.Doubts, d.Evidence...)
	}
	return f
}

func attemptOf(s *run.State, id string, a *run.Attempt) attemptFacts {
	f := attemptFacts{
		N: a.Attempt, Role: a.Role, Worker: a.Worker, Dispatched: a.Dispatched, Began: a.Began, Ended: a.Ended, Doing: a.Doing,
		Tokens: a.Usage.Total(), Turns: a.Turns, Receipts: receiptsOf(a.Receipts),
	}
	if r := a.Result; r != nil {
		f.Status, f.Error, f.Doing = r.Status, r.Error, ""
		f.Summary, f.Findings, f.Deviations = r.Handoff.Summary, r.Handoff.Findings, r.Handoff.Deviations
		if p := r.Patch; p != nil {
			f.Patch, f.Files, f.Added, f.Deleted = true, p.Files, p.Added, p.Deleted
		}
		if len(f.Receipts) == 0 {
			f.Receipts = receiptsOf(r.Receipts)
		}
	}
	if t := s.Tasks.ByID[id]; t != nil && f.Error == nil {
		i := slices.IndexFunc(t.Faults, func(e run.AttemptFault) bool { return e.Attempt == a.Attempt })
		if i >= 0 {
			f.Error = &t.Faults[i].Fault
		}
	}
	return f
}

func receiptsOf(all []spec.Receipt) (out []receiptFacts) {
	for i := range all {
		out = append(out, receiptFacts{all[i].Gate, all[i].Verdict, all[i].Duration.Milliseconds()})
	}
	return out
}
