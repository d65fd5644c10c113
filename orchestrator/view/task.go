package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/stats"
)

// Task is one task of a report.
type Task struct {
	ID     string        `json:"id"`
	Title  string        `json:"title,omitempty"`
	Role   string        `json:"role"`
	State  run.TaskState `json:"state"`
	Reason string        `json:"reason,omitempty"`
	// WriteSet are the patterns of the files that it may change, and Inherits its knowledge of the tasks before it.
	WriteSet []string             `json:"write_set,omitempty"`
	Inherits spec.IncludeContents `json:"inherits,omitempty"`
	// Unverified is set where it landed without proof.
	Unverified bool `json:"unverified,omitempty"`
	// Better is set where it landed and mends a gate that is not green yet.
	Better   bool `json:"better,omitempty"`
	Attempts int  `json:"attempts"`
	// Deliveries counts the deliveries of its attempts, without its testers.
	Deliveries int    `json:"deliveries"`
	Commit     string `json:"commit,omitempty"`
	Added      int    `json:"added,omitempty"`
	Deleted    int    `json:"deleted,omitempty"`
	Files      int    `json:"files,omitempty"`
	// Usage covers all attempts and the task's testers. Delegated is what its agents had others use for them, their descendants
	// included: it is in the usage of those tasks already.
	Usage     spec.Usage `json:"usage,omitzero"`
	Delegated spec.Usage `json:"delegated,omitzero"`
	Turns     int        `json:"turns,omitempty"`
	// Cost is by what programs stated, else by the dated prices; Unpriced are the tokens that are not in it. Models is what
	// coding agents used of each model.
	Cost     spec.Money `json:"pico_usd,omitempty"`
	Unpriced int        `json:"unpriced,omitempty"`
	Models   []ModelUse `json:"models,omitempty"`
	// Parent is the task whose agent asked for this one, and Children are those that its own agents asked for.
	Parent   string   `json:"parent,omitempty"`
	Children []string `json:"children,omitempty"`
	// Waits is the reason why its agent waits, Messages lists those sent to it, and Refused the write access that its agents did
	// not get.
	Waits    []string  `json:"waits,omitempty"`
	Messages []Message `json:"messages,omitempty"`
	Refused  []Scope   `json:"refused,omitempty"`
	// Steps are the plan that its newest agent keeps of its own work.
	Steps []spec.Step `json:"steps,omitempty"`
	// Saved are the artifacts that it gave a name.
	Saved []contextscope.Listed `json:"saved,omitempty"`
	// Seconds is the wall clock of the task's attempts and testers.
	Seconds float64 `json:"seconds,omitempty"`
	// Failures are how its earlier attempts ended.
	Failures []string `json:"failures,omitempty"`
	// Doubts are why its patches were held, oldest first, with the decisions; the last one is open while the task is held.
	Doubts  []run.Doubt `json:"doubts,omitempty"`
	Summary string      `json:"summary,omitempty"`
	// Said are the last words of the coding agent of a task that is unchanged or parked: they may tell that it could not do it.
	Said string `json:"said,omitempty"`
	// Shared is the process that made its result and those of other tasks; nil where it had one of its own.
	Shared *spec.Shared `json:"shared,omitempty"`
	// Findings, Deviations and Broken constraints are those of its newest handoff and, but for findings, of its tester's.
	Findings   []string              `json:"findings,omitempty"`
	Deviations []string              `json:"deviations,omitempty"`
	Broken     []spec.ConstraintEcho `json:"broken,omitempty"`
	// Red are the failures of its tests without the change, which prove them.
	Red []string `json:"red,omitempty"`
	// Kills are changes of the code that its tests find and no other test does, which prove them without a change set.
	Kills []string `json:"kills,omitempty"`
	// Verdict is that of its newest judge, with the reason.
	Verdict string `json:"verdict,omitempty"`
	// Executor made its newest attempt, where its role has a chain; LimitHit is the limit that was reached before its result.
	// Uses names the executor or the stronger model that took over in its newest attempt, with the reason.
	Executor string `json:"executor,omitempty"`
	Uses     string `json:"uses,omitempty"`
	LimitHit string `json:"limit_hit,omitempty"`
}

// TaskWords are the states in which a task is shown.
var TaskWords = []string{
	string(run.TaskPending), string(run.TaskRunning), string(run.TaskVerifying), string(run.TaskHeld), string(run.TaskAccepted),
	string(run.TaskLanding), string(run.TaskDone), string(run.TaskLanded), string(run.TaskLanded) + " unverified",
	string(run.TaskLanded) + " better",
	string(run.TaskDropped), string(run.TaskParked), string(run.TaskSkipped), string(run.TaskCancelled),
}

// Status is the task's state for people.
func (t *Task) Status() string {
	switch {
	case t.Unverified:
		return string(t.State) + " unverified"
	case t.Better:
		return string(t.State) + " better"
	}
	return string(t.State)
}

// StatusOf is a task's state for people.
func StatusOf(s *run.State, t *run.Task) string {
	r := Task{State: t.State}
	r.grade(s, t)
	return r.Status()
}

func (t *Task) grade(s *run.State, v *run.Task) {
	t.Unverified, t.Better = v.State == run.TaskLanded && v.Landed.Unverified != "", s.Better(v)
}

// Landed reports whether its change is on the branch.
func (t *Task) Landed() bool { return t.State == run.TaskLanded }

// Unchanged reports whether it ended well without a change.
func (t *Task) Unchanged() bool { return t.State == run.TaskDone }

// IsMaster reports whether it is that of the master, which plans and changes nothing.
func (t *Task) IsMaster() bool { return t.ID == run.MasterTask }

// Took is the wall clock of the task's attempts and testers.
func (t *Task) Took() time.Duration { return time.Duration(t.Seconds * float64(time.Second)) }

// Handoff lists the broken constraints, deviations and findings, each behind the word for it.
func (t *Task) Handoff() (out [][2]string) {
	for _, c := range t.Broken {
		out = append(out, [2]string{"broken", "constraint " + c.Text + ": " + c.Note})
	}
	for _, d := range t.Deviations {
		out = append(out, [2]string{"deviation", d})
	}
	for _, f := range t.Findings {
		out = append(out, [2]string{"finding", f})
	}
	return out
}

// explained are the states of a task that a report gives the reason of.
var explained = []run.TaskState{
	run.TaskParked, run.TaskPending, run.TaskHeld, run.TaskCancelled, run.TaskSkipped, run.TaskDropped,
}

// Tasks makes the reports the planned tasks, in plan order.
func Tasks(s *run.State) (out []Task) {
	for t := range s.Tasks.All() {
		out = append(out, taskReport(s, t))
	}
	return out
}

func taskReport(s *run.State, v *run.Task) Task {
	t := Task{
		ID: v.Task.ID, Title: v.Task.Title, Role: v.Task.Role, State: v.State, Reason: v.Reason, Attempts: v.Attempt,
		WriteSet: v.Task.Files, Inherits: v.Task.IncludeContents,
		Doubts: v.Doubts, Commit: v.Commit, Added: v.Landed.Added, Deleted: v.Landed.Deleted, Files: v.Landed.Files,
	}
	if !slices.Contains(explained, v.State) {
		t.Reason = ""
	}
	if s.Status == run.Stopped && (v.State == run.TaskRunning || v.State == run.TaskVerifying) {
		t.State, t.Reason = run.TaskPending, whenItStopped(s, v)
	}
	t.grade(s, v)
	t.tellHandoff(v.Result, "")
	t.tellHandoff(v.VerifyR, "its judge: ")
	if v.Red != nil && v.Task.ChangeSet != "" {
		t.Red = v.Red.Failed
	} else if v.Red != nil {
		t.Kills = v.Red.Failed
	}
	if r := v.VerifyR; r != nil {
		t.Verdict = verdictOf(r) + ": " + cmp.Or(r.Handoff.Summary, run.FaultOf(r).Message)
	}
	t.Executor, t.Uses = executorOf(s, v), v.Choice.String()
	if r := v.Result; r != nil && (v.State == run.TaskDone || v.State == run.TaskParked) {
		t.Said = r.Said
	}
	tellRequests(s, &t, v)
	for _, f := range v.Faults {
		t.Failures = append(t.Failures, fmt.Sprintf("attempt %d: %s: %s", f.Attempt, f.Fault.Class,
			recovery.Reason(&s.Spec, f.Fault)))
	}
	spent(s, &t, v.Task.ID)
	spent(s, &t, v.Task.ID+run.VerifySuffix)
	return t
}

// whenItStopped words the future of a task that an agent or a judge worked on when the run stopped.
func whenItStopped(s *run.State, v *run.Task) string {
	a := s.Works[v.Task.ID].Newest()
	switch role := s.Spec.Made(v, s.Works); {
	case v.State == run.TaskVerifying, a != nil && a.Result != nil:
		return "its attempt had ended when the run stopped: its result is checked when the run continues"
	case role.Executor == spec.ExecutorCommand && a != nil && a.Started:
		return "its command was running when the run stopped: it starts again from nothing when the run continues"
	}
	return fmt.Sprintf("it was %s when the run stopped, and continues with the run", v.State)
}

// tellHandoff adds the handoff of an agent, or of its tester, which by names.
func (t *Task) tellHandoff(r *spec.Result, by string) {
	if r == nil {
		return
	}
	if by == "" {
		t.Summary, t.LimitHit, t.Findings, t.Shared = r.Handoff.Summary, r.LimitHit, r.Handoff.Findings, r.Shared
	}
	for _, d := range r.Handoff.Deviations {
		t.Deviations = append(t.Deviations, by+d)
	}
	for _, c := range r.Handoff.Broken() {
		c.Note = by + c.Note
		t.Broken = append(t.Broken, c)
	}
}

// spent adds the cost of the attempts of one queue id.
func spent(s *run.State, t *Task, id string) {
	w := s.Works[id]
	if w == nil {
		return
	}
	if a := w.Attempts[w.Last]; a != nil && id == t.ID {
		t.Steps, t.Saved = a.Steps, a.Saved
	}
	for _, a := range w.Attempts {
		t.Usage, t.Turns = t.Usage.Add(a.Usage), t.Turns+a.Turns
		t.pay(s, a)
		if !strings.HasSuffix(id, run.VerifySuffix) {
			t.Deliveries += a.Delivery
		}
		if a.Ended > a.Began && a.Began > 0 {
			t.Seconds += float64(a.Ended-a.Began) / 1000
		}
	}
}

// executorOf names the executor of a task's newest attempt where its role has a chain of them.
func executorOf(s *run.State, t *run.Task) string {
	if len(s.Spec.Roles[t.Task.Role].Chain) == 0 || t.Attempt == 0 {
		return ""
	}
	return s.Spec.Made(t, s.Works).Executor
}

// ModelUse is a coding agent's use of one model. Model is empty where it names none; Unpriced are tokens without a known price.
type ModelUse struct {
	Model    string     `json:"model,omitempty"`
	Usage    spec.Usage `json:"usage"`
	Cost     spec.Money `json:"pico_usd"`
	Unpriced int        `json:"unpriced,omitempty"`
}

// pay adds the cost of an attempt's calls to a task, and, of a coding agent, the use of each model.
func (t *Task) pay(s *run.State, a *run.Attempt) {
	sum, unpriced := stats.Cost(&s.Spec.Project, a.Calls)
	t.Cost, t.Unpriced = t.Cost.Plus(sum), spec.Plus(t.Unpriced, unpriced)
	if s.Spec.Roles[a.Role].Usage == "" {
		return
	}
	for i, c := range a.Calls {
		at := slices.IndexFunc(t.Models, func(m ModelUse) bool { return m.Model == c.Model })
		if at < 0 {
			at, t.Models = len(t.Models), append(t.Models, ModelUse{Model: c.Model})
		}
		m := &t.Models[at]
		sum, unpriced := stats.Cost(&s.Spec.Project, a.Calls[i:i+1])
		m.Usage, m.Cost, m.Unpriced = m.Usage.Add(c.Usage), m.Cost.Plus(sum), spec.Plus(m.Unpriced, unpriced)
	}
}

// Said lists the reports of an agent, and of its tester, besides their results.
func Said(result, tester *spec.Result) (out []string) {
	var t Task
	t.tellHandoff(result, "")
	t.tellHandoff(tester, "its judge: ")
	for _, h := range t.Handoff() {
		out = append(out, h[0]+": "+h[1])
	}
	return out
}
