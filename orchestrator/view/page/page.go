// Package page computes the page of a run. Its input is the state of the run; its output is the JSON that the browser draws:
// tasks, landing queue, series, alarm. It sends nothing.
package page

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/advice"
	"divisi/orchestrator/view/result"
	"divisi/orchestrator/view/stats"
)

// Run is the page of a run beside the log. Times are unix milliseconds; 0 means not yet.
type Run struct {
	State  run.Status `json:"state"`
	Reason string     `json:"reason,omitempty"`
	Wait   string     `json:"wait,omitempty"`
	// Line is why a person stopped the line, Alarm that nothing has landed for long, and why.
	Line       string `json:"line,omitempty"`
	Alarm      string `json:"alarm,omitempty"`
	Goal       string `json:"goal"`
	Repo       string `json:"repo"`
	Base       string `json:"base"`
	Branch     string `json:"branch,omitempty"`
	Unverified string `json:"unverified,omitempty"`
	// Unread are the landed files that no gate read, which make their tasks unverified, a line for each directory and reason.
	Unread []string `json:"unread,omitempty"`
	// CI tells how much of CI the gates run, and which landed files it checks otherwise, a line each.
	CI []string `json:"ci,omitempty"`
	// Untried are the tasks whose changed tests no experiment has tried, a line for each reason.
	Untried []string `json:"untried,omitempty"`
	// Unlike are the landed edits that no other shard of their templates makes, a line each.
	Unlike []string `json:"unlike,omitempty"`
	// Rounds tell of templates by finding what each round found and closed, and what is left, a line each.
	Rounds    []string    `json:"rounds,omitempty"`
	Ref       string      `json:"ref,omitempty"`
	Published string      `json:"published,omitempty"`
	Notices   []string    `json:"notices,omitempty"`
	Parallel  int         `json:"parallel"`
	Budget    spec.Budget `json:"budget,omitzero"`
	Tokens    int         `json:"tokens"`
	Cached    int         `json:"cached"`
	Calls     int         `json:"calls"`
	Created   int64       `json:"created"`
	Ended     int64       `json:"ended"`
	// Last is the newest event's time, Waited how many milliseconds the run had waited for a person, or for a
	// process, by then.
	Last   int64         `json:"last"`
	Waited int64         `json:"waited"`
	Phases []stats.Phase `json:"phases"`
	Agents []view.Agent  `json:"agents"`
	// Result is what a run that has ended has brought; nil before.
	Result *result.Result `json:"result,omitempty"`
	// Ways are a person's next steps, as commands.
	Ways []advice.Way `json:"ways,omitempty"`
	// Acts are the names of the acts that the run is offered now.
	Acts []string `json:"acts"`
	// Roles are those of the run, Models those that the project or a role names: for another attempt.
	Roles   []string      `json:"roles,omitempty"`
	Models  []string      `json:"models,omitempty"`
	Workers []view.Worker `json:"workers"`
	Queue   Queue         `json:"queue"`
	Flaky   []Flaky       `json:"flaky,omitempty"`
	// Series are points of the run, the last one now; Projected is when all tasks have probably landed, 0 where that is not
	// known.
	Series    []Point `json:"series,omitempty"`
	Projected int64   `json:"projected"`
	// Cost words what its tokens cost, Left what the rest is likely to use; both are empty where nothing tells.
	Cost string `json:"cost,omitempty"`
	Left string `json:"left,omitempty"`
	// Tasks are in plan order, the master's first. A message holds those that changed since the message before.
	Tasks []TaskRow `json:"tasks"`
}

// TaskRow is a row of the page's table of tasks.
type TaskRow struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Role   string `json:"role"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Template is the one that it is a shard of. Why is why it does not begin, while it is pending.
	Template string `json:"template,omitempty"`
	Why      string `json:"why,omitempty"`
	// Alarm reports that the reason is a failure's.
	Alarm bool `json:"alarm,omitempty"`
	// Notes are its agents' reports beside their results.
	Notes   []string `json:"notes,omitempty"`
	Attempt int      `json:"attempt"`
	Added   int      `json:"added"`
	Deleted int      `json:"deleted"`
	Tokens  int      `json:"tokens"`
	// Landed is when it landed. Patch reports that its newest attempt, or what landed of it, changes files.
	Landed int64 `json:"landed,omitempty"`
	Patch  bool  `json:"patch,omitempty"`
	// Forgotten are the files for which a task can be added: the gates fail in them, and no task may change them.
	Forgotten []string `json:"forgotten,omitempty"`
}

// maxForgotten bounds the files of a task that are named.
const maxForgotten = 3

// maxUntried bounds the tasks that the page names for one reason.
const maxUntried = 50

// Of makes the view of a run at a time, with all its tasks and without its series.
func Of(s *run.State, now time.Time) Run {
	agents, why := view.Agents(s), schedule.Why(s)
	v := Run{
		State: s.Status, Reason: s.Reason, Wait: s.Wait.For, Line: s.Line, Alarm: alarm(s, now),
		Goal: s.Spec.Goal, Repo: s.Spec.Repo, Base: s.Spec.Base,
		Branch: s.Spec.Branch, Unverified: s.Unverified, Ref: s.Ref, Published: s.Published, Notices: s.Notices,
		Parallel: s.Spec.Parallel, Budget: s.Budget, Tokens: s.Usage.Total(), Cached: s.Usage.Cached, Calls: s.Usage.Calls,
		Created: view.Milliseconds(s.Spec.Created), Ended: view.Milliseconds(s.Ended), Last: view.Milliseconds(s.Time),
		Waited: (s.Wait.Until(s.Time) + s.Times.Down).Milliseconds(), Phases: stats.Phases(s), Agents: agents,
		Workers: view.Workers(s, agents), Queue: queueOf(s), Flaky: flakyGates(s),
		Result:    result.Of(s),
		Ways:      advice.Live(s),
		Projected: view.Milliseconds(projected(s, now)),
		Tasks:     make([]TaskRow, 0, len(s.Tasks.Order)+1),
	}
	outlook := stats.OutlookOf(s, now)
	v.Cost, v.Left = outlook.Spent(), outlook.Left.Range()
	unread, _ := view.Unread(s)
	v.Unread, v.Unlike, v.CI = text.Each(unread), view.UnlikeLines(s), view.CILines(s)
	v.Untried, v.Rounds = view.Untried(s, maxUntried), view.RoundLines(s)
	if w := s.Works[run.MasterTask]; w != nil {
		v.Tasks = append(v.Tasks, rowOfMaster(s, w))
	}
	for _, id := range s.Tasks.Order {
		t := rowOfTask(s, s.Tasks.ByID[id])
		t.Why = why[id]
		v.Tasks = append(v.Tasks, t)
	}
	v.Roles = slices.Sorted(maps.Keys(s.Spec.Roles))
	v.Models = slices.Sorted(maps.Keys(s.Spec.Project.Models))
	for _, name := range v.Roles {
		if m := s.Spec.Roles[name].Model; m != "" && !slices.Contains(v.Models, m) {
			v.Models = append(v.Models, m)
		}
	}
	return v
}

// Ages reports whether time alone can change it.
func (p *Run) Ages() bool { return p.State == run.Running }

func rowOfTask(s *run.State, t *run.Task) TaskRow {
	failed := t.State == run.TaskPending && len(t.Faults) > 0 && t.Faults[len(t.Faults)-1].Attempt == t.Attempt
	row := TaskRow{
		ID: t.Task.ID, Title: t.Task.Title, Role: t.Task.Role, State: view.StatusOf(s, t), Reason: t.Reason,
		Alarm: failed || t.State == run.TaskParked || t.State == run.TaskHeld,
		Notes: view.Said(t.Result, t.VerifyR), Attempt: t.Attempt, Added: t.Landed.Added, Deleted: t.Landed.Deleted,
		Tokens: s.Works.Used(t.Task.ID).Total(), Template: t.Task.ShardOf, Landed: view.Milliseconds(t.LandedAt),
		Patch: t.Commit != "" || t.Result != nil && t.Result.Patch != nil,
	}
	if t.Commit == "" && !t.GivenUp() && t.Result != nil && t.Result.Patch != nil {
		row.Added, row.Deleted = t.Result.Patch.Added, t.Result.Patch.Deleted
	}
	if t.State == run.TaskParked && t.Forgotten != nil {
		row.Forgotten = text.Few(t.Forgotten.Files(), maxForgotten)
	}
	return row
}

// rowOfMaster makes the row of the master, which the plan does not list.
func rowOfMaster(s *run.State, w *run.Work) TaskRow {
	row := TaskRow{
		ID: run.MasterTask, Role: spec.RoleMaster, State: string(run.TaskPending), Attempt: w.Last,
		Tokens: s.Works.Used(w.ID).Total(),
	}
	if a := w.Attempts[w.Last]; a != nil {
		row.Notes = view.Said(a.Result, nil)
	}
	switch {
	case s.Master.Done:
		row.State = string(run.TaskDone)
	case w.Outstanding():
		row.State = string(run.TaskRunning)
	case s.Master.Fails > 0:
		row.Reason, row.Alarm = cmp.Or(s.Master.GaveUp(), s.Master.Fault.Message), true
	default:
		row.Reason = "waits for its tasks"
	}
	return row
}

// Removed is the row of a task that the run no longer has.
func (t TaskRow) Removed() TaskRow {
	t.State, t.Reason = string(run.TaskCancelled), "its plan was sent back or edited"
	return t
}

// Flaky are failures that one of two runs of a gate on the base commit had alone.
type Flaky struct {
	Gate  string   `json:"gate"`
	Names []string `json:"names"`
}

// flakyGates lists the gates with such failures, by name.
func flakyGates(s *run.State) (out []Flaky) {
	for _, gate := range slices.Sorted(maps.Keys(s.Proofs.Flaky)) {
		if names := s.Proofs.Flaky[gate]; len(names) > 0 {
			out = append(out, Flaky{gate, names})
		}
	}
	return out
}
