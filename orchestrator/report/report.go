package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// executors counts the landed tasks of roles with a chain by the executor that made what landed; nil when there are none.
func executors(s *run.State) map[string]int {
	var by map[string]int
	for _, id := range s.Tasks.Order {
		name := executorOf(s, s.Tasks.ByID[id])
		if name == "" || s.Tasks.ByID[id].State != run.TaskLanded {
			continue
		}
		if by == nil {
			by = map[string]int{}
		}
		by[name]++
	}
	return by
}

// Report is a run as `divisi show` prints it: everything in it was measured, nothing was claimed.
type Report struct {
	Run    string     `json:"run"`
	Goal   string     `json:"goal,omitempty"`
	State  run.Status `json:"state"`
	Reason string     `json:"reason,omitempty"`
	// Unverified is why no landed change is proven, or which are not; empty when all are.
	Unverified string `json:"unverified,omitempty"`
	// Wait is what the run waits for a person to do.
	Wait string `json:"wait,omitempty"`
	// Line is why a person stopped the line.
	Line string `json:"line,omitempty"`
	Repo string `json:"repo"`
	Base string `json:"base"`
	Head string `json:"head"`
	Ref  string `json:"ref,omitempty"`
	// Started and Ended are unix milliseconds; Ended is that of the newest end of an attempt.
	Created time.Time `json:"created"`
	Tasks   []Task    `json:"tasks"`
	Gates   []Gate    `json:"gates,omitempty"`
	// FirstRed is the first landed batch after which a final gate is red.
	FirstRed *Batch     `json:"first_red,omitempty"`
	Usage    spec.Usage `json:"usage"`
	// Roles are the usage of each role, by name; all attempts count, failed ones too.
	Roles  []Role `json:"roles,omitempty"`
	Budget int    `json:"budget,omitempty"`
	// Executors count the landed tasks of roles with a chain, by the executor that made what landed.
	Executors map[string]int `json:"executors,omitempty"`
	// Verdicts count those of judges, all attempts together.
	Verdicts map[string]int `json:"verdicts,omitempty"`
	Batches  int            `json:"batches"`
	// GateRuns counts the runs of gates on batches and on the final head; OneByOne is the least that one patch at a time takes.
	GateRuns int   `json:"gate_runs"`
	OneByOne int   `json:"one_by_one"`
	Times    Times `json:"times"`
	// Now is what the agents and gates of a run that goes on are doing, the longest first.
	Now []string `json:"now,omitempty"`
	// Flakes are failures of gates on a tree that they passed on when they ran once more.
	Flakes  []string `json:"flakes,omitempty"`
	Notices []string `json:"notices,omitempty"`
	// Quotas are those that are used up now, by model.
	Quotas []spec.Wait `json:"quotas,omitempty"`
	// Decisions are those that are not closed.
	Decisions []Decision `json:"decisions,omitempty"`
	// Doubts are the patches that were held and are not any more, in plan order, and what was decided about each.
	Doubts  []string `json:"doubts,omitempty"`
	Added   int      `json:"added"`
	Deleted int      `json:"deleted"`
	// Files counts the files that landed patches changed, each patch on its own.
	Files int `json:"files"`
	// TokensPerLanded is the usage divided by the landed tasks; 0 when nothing landed.
	TokensPerLanded int `json:"tokens_per_landed,omitempty"`
}

// Task is one task of a report.
type Task struct {
	ID     string        `json:"id"`
	Title  string        `json:"title,omitempty"`
	Role   string        `json:"role"`
	State  run.TaskState `json:"state"`
	Reason string        `json:"reason,omitempty"`
	// WriteSet are the patterns of the files that it may change, and Inherits what it knows of the tasks before it.
	WriteSet []string             `json:"write_set,omitempty"`
	Inherits spec.IncludeContents `json:"inherits,omitempty"`
	// Unverified is set where it landed without proof.
	Unverified bool `json:"unverified,omitempty"`
	Attempts   int  `json:"attempts"`
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
	// Parent is the task whose agent asked for this one, and Children are those that its own agents asked for.
	Parent   string   `json:"parent,omitempty"`
	Children []string `json:"children,omitempty"`
	// Waits is what its agent waits for, Messages what it was sent, and Refused the write access that its agents did not get.
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
	// Doubts are why its patches were held, oldest first, and what was decided; the last one is open while the task is held.
	Doubts  []run.Doubt `json:"doubts,omitempty"`
	Summary string      `json:"summary,omitempty"`
	// Findings, Deviations and Broken constraints are those of its newest handoff and, but for findings, of its tester's.
	Findings   []string              `json:"findings,omitempty"`
	Deviations []string              `json:"deviations,omitempty"`
	Broken     []spec.ConstraintEcho `json:"broken,omitempty"`
	// Red are the failures of its tests without the change, which prove them.
	Red []string `json:"red,omitempty"`
	// Verdict is that of its newest judge, with the reason.
	Verdict string `json:"verdict,omitempty"`
	// Executor made its newest attempt, where its role has a chain; LimitHit is the limit that was reached before its result.
	// Uses names the executor or the stronger model that took over in its newest attempt, with the reason.
	Executor string `json:"executor,omitempty"`
	Uses     string `json:"uses,omitempty"`
	LimitHit string `json:"limit_hit,omitempty"`
}

// Batch is a landed batch: its newest commit and its tasks.
type Batch struct {
	Batch  int      `json:"batch"`
	Commit string   `json:"commit"`
	Tasks  []string `json:"tasks"`
}

// Role is what the model calls of one role cost, all its attempts together.
type Role struct {
	Role  string     `json:"role"`
	Usage spec.Usage `json:"usage"`
	// Reuse is the share of the prompts that the service had cached, from 0 to 1.
	Reuse float64 `json:"reuse"`
	// Cost is by the dated prices. Unpriced counts the tokens that are not in it, because no price is known for their model.
	Cost     spec.Money `json:"pico_usd"`
	Unpriced int        `json:"unpriced,omitempty"`
}

// Gate compares a final gate with the baseline.
type Gate struct {
	Gate    string   `json:"gate"`
	Verdict string   `json:"verdict"`
	New     []string `json:"new,omitempty"`
	Known   []string `json:"known,omitempty"`
	Fixed   []string `json:"fixed,omitempty"`
	// Error is the first error of a red gate, Output the file with its whole output.
	Error   string  `json:"error,omitempty"`
	Output  string  `json:"output,omitempty"`
	Seconds float64 `json:"seconds"`
}

// maxNow bounds what a report names of those that work.
const maxNow = 8

// Live makes the report of a run that goes on, as it stands at a time.
func Live(s *run.State, now time.Time) Report {
	r := Of(s)
	if s.Status.Ended() {
		return r
	}
	t := s.Times.At(now, s.Spec.Created, s.Queue)
	r.Times = timesOf(s, &t, now)
	for _, a := range Agents(s) {
		r.Now = append(r.Now, fmt.Sprintf("%s (%s) %s", a.ID, Span(now.Sub(time.UnixMilli(a.Since))), a.Doing))
	}
	r.Now = text.Few(r.Now, maxNow)
	return r
}

// Of makes the report of a run from its state.
func Of(s *run.State) Report {
	r := Report{
		Run: s.Spec.Run, Goal: s.Spec.Goal, State: s.Status, Reason: s.Reason, Wait: s.Wait.For, Line: s.Line,
		Unverified: acceptance.UnverifiedLanded(s),
		Repo:       s.Spec.Repo, Base: s.Spec.Base, Head: s.Head,
		Ref: s.Ref, Created: s.Spec.Created, Usage: s.Usage, Roles: roleReports(s), Budget: s.Budget, Executors: executors(s),
		Verdicts: verdicts(s),
		Batches:  s.Batches.Count, GateRuns: s.Batches.GateRuns, OneByOne: s.Tasks.Queued,
		Flakes: s.Proofs.Flakes(), Times: TimesOf(s),
		Notices: s.Notices, Decisions: decisions(s), Doubts: doubts(s), Quotas: s.Quotas.UsedUp(time.Now()),
	}
	landed := 0
	for _, id := range s.Tasks.Order {
		t := taskReport(s, s.Tasks.ByID[id])
		r.Tasks = append(r.Tasks, t)
		if t.State == run.TaskLanded {
			landed++
			r.Added, r.Deleted, r.Files = r.Added+t.Added, r.Deleted+t.Deleted, r.Files+t.Files
		}
	}
	if w := s.Works[run.MasterTask]; w != nil {
		t := Task{ID: run.MasterTask, Title: "Plan the run", Role: spec.RoleMaster, State: run.TaskRunning, Attempts: w.Last}
		if s.Master.Done {
			t.State = run.TaskDone
		}
		if a := w.Attempts[w.Last]; a != nil {
			t.tellHandoff(a.Result, "")
		}
		spent(s, &t, run.MasterTask)
		r.Tasks = append([]Task{t}, r.Tasks...)
	}
	for _, f := range s.Final {
		r.Gates = append(r.Gates, compareGate(s, f, s.Proofs.Baseline[f.Gate]))
	}
	if first := s.Batches.FirstRed(); first != nil {
		r.FirstRed = &Batch{Batch: first.Batch, Commit: first.Head, Tasks: run.Names(first.Tasks)}
	}
	if landed > 0 {
		r.TokensPerLanded = s.Usage.Total() / landed
	}
	return r
}

// explained are the states of a task that a report gives the reason of.
var explained = []run.TaskState{run.TaskParked, run.TaskPending, run.TaskHeld, run.TaskSkipped}

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
		t.State, t.Reason = run.TaskPending, fmt.Sprintf("it was %s when the run stopped, and goes on with it", v.State)
	}
	t.Unverified = v.State == run.TaskLanded && (v.Landed.Unverified != "" || acceptance.Unverified(s) != "")
	t.tellHandoff(v.Result, "")
	t.tellHandoff(v.VerifyR, "its judge: ")
	if v.Red != nil {
		t.Red = v.Red.Failed
	}
	if r := v.VerifyR; r != nil {
		t.Verdict = verdictOf(r) + ": " + cmp.Or(r.Handoff.Summary, run.FaultOf(r).Message)
	}
	t.Executor, t.Uses = executorOf(s, v), v.Choice.String()
	tellRequests(s, &t, v)
	for _, f := range v.Faults {
		t.Failures = append(t.Failures, fmt.Sprintf("attempt %d: %s: %s", f.Attempt, f.Fault.Class, recovery.Reason(s, f.Fault)))
	}
	spent(s, &t, v.Task.ID)
	spent(s, &t, v.Task.ID+run.VerifySuffix)
	return t
}

// tellHandoff adds the handoff of an agent, or of its tester, which by names.
func (t *Task) tellHandoff(r *spec.Result, by string) {
	if r == nil {
		return
	}
	if by == "" {
		t.Summary, t.LimitHit, t.Findings = r.Handoff.Summary, r.LimitHit, r.Handoff.Findings
	}
	for _, d := range r.Handoff.Deviations {
		t.Deviations = append(t.Deviations, by+d)
	}
	for _, c := range r.Handoff.Broken() {
		c.Note = by + c.Note
		t.Broken = append(t.Broken, c)
	}
}

// verdictOf words a judge's verdict.
func verdictOf(r *spec.Result) string {
	switch class := run.FaultOf(r).Class; {
	case r.Status == spec.StatusDone:
		return "pass"
	case class == wire.FaultVerdict:
		return "fail"
	case class == wire.FaultConstraint:
		return "constraint not kept"
	}
	return "no verdict"
}

// verdicts counts the verdicts of judges; nil for none.
func verdicts(s *run.State) map[string]int {
	var by map[string]int
	for id, w := range s.Works {
		for _, a := range w.Attempts {
			if a.Result == nil || !strings.HasSuffix(id, run.VerifySuffix) {
				continue
			}
			if by == nil {
				by = map[string]int{}
			}
			by[verdictOf(a.Result)]++
		}
	}
	return by
}

// spent adds what the attempts of one queue id cost.
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
		if !strings.HasSuffix(id, run.VerifySuffix) {
			t.Deliveries += a.Delivery
		}
		if a.Ended > a.Began && a.Began > 0 {
			t.Seconds += float64(a.Ended-a.Began) / 1000
		}
	}
}

// roleReports sums what was used by role, sorted by name.
func roleReports(s *run.State) []Role {
	byRole := map[string]*Role{}
	for _, w := range s.Works {
		for n, a := range w.Attempts {
			role := w.RoleAt(n)
			r := byRole[role]
			if r == nil {
				r = &Role{Role: role}
				byRole[role] = r
			}
			sum, unpriced := cost(&s.Spec.Project, a)
			r.Usage, r.Cost, r.Unpriced = r.Usage.Add(a.Usage), r.Cost+sum, r.Unpriced+unpriced
		}
	}
	var out []Role
	for _, role := range slices.Sorted(maps.Keys(byRole)) {
		r := byRole[role]
		if r.Usage.Prompt > 0 {
			r.Reuse = float64(r.Usage.Cached) / float64(r.Usage.Prompt)
		}
		if r.Usage != (spec.Usage{}) {
			out = append(out, *r)
		}
	}
	return out
}

func compareGate(s *run.State, final, base spec.Receipt) Gate {
	g := Gate{Gate: final.Gate, Verdict: final.Verdict, Seconds: final.Duration.Seconds()}
	if final.Verdict != spec.VerdictPass {
		g.Error, g.Output = gate.Reason(final, &base), recovery.OutputFile(s, final.Output)
	}
	g.New, g.Fixed = gate.NewSignatures(final, &base), gate.NewSignatures(base, &final)
	for _, sig := range final.Signatures {
		if !slices.Contains(g.New, sig) {
			g.Known = append(g.Known, sig)
		}
	}
	return g
}

// executorOf names the executor of a task's newest attempt where its role has a chain of them.
func executorOf(s *run.State, t *run.Task) string {
	if len(s.Spec.Roles[t.Task.Role].Chain) == 0 || t.Attempt == 0 {
		return ""
	}
	return s.Made(t).Executor
}
