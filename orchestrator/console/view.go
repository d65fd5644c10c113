package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

const verifySuffix = "--verify"

// view is what the terminal shows: a small fold over the events. It passes over what it cannot read, because a display
// must not end a run; the conductor's own fold is the strict one.
type view struct {
	run      string
	state    run.Status
	reason   string
	wait     run.Wait
	spec     run.Spec
	passed   map[run.Status]bool
	baseline []spec.Receipt
	final    []spec.Receipt
	gates    map[string]int
	head     string
	ref      string
	// unverified says why nothing that lands is proven.
	unverified string
	budget     int
	usage      spec.Usage
	ended      time.Time
	order      []string
	tasks      map[string]*TaskRow
	planned    map[string]bool
	agents     []*agent
}

// agent is one attempt with a worker.
type agent struct {
	id, task, role, doing string
	since                 time.Time
	// waits says that it waits for others.
	waits bool
}

func newView() *view {
	return &view{
		passed: map[run.Status]bool{}, gates: map[string]int{},
		tasks: map[string]*TaskRow{}, planned: map[string]bool{},
	}
}

// data reads an event's data; what does not fit its kind reads as empty.
func data[T any](e *contextscope.Event) T {
	var d T
	if json.Unmarshal(e.Data, &d) != nil {
		var none T
		return none
	}
	return d
}

func (v *view) apply(e *contextscope.Event) {
	if v.run == "" {
		v.run = e.Run
	}
	switch e.Kind {
	case contextscope.KindRun:
		v.applyRun(e, data[run.Data](e))
	case contextscope.KindPlan:
		for _, t := range data[run.PlanData](e).Tasks {
			v.add(t)
		}
	case contextscope.KindTask:
		v.applyTask(e, data[run.TaskData](e))
	case contextscope.KindLanding:
		v.applyLanding(data[run.LandingData](e))
	default:
		v.applyAgent(e)
	}
}

func (v *view) applyRun(e *contextscope.Event, d run.Data) {
	if d.Spec != nil {
		v.spec, v.budget = *d.Spec, d.Spec.Budget
	}
	if d.State != "" {
		v.state, v.reason, v.ended = d.State, d.Reason, time.Time{}
		v.passed[d.State] = true
		if over(d.State) {
			v.ended, v.agents = e.Time, nil
		}
	}
	if d.Wait != nil {
		v.wait.Set(*d.Wait, e.Time)
	} else if over(v.state) {
		v.wait.Set("", e.Time)
	}
	if d.Unverified != "" {
		v.unverified = d.Unverified
	}
	if d.Baseline != nil {
		v.baseline = d.Baseline
	}
	if d.Final != nil {
		v.final = d.Final
	}
	if d.Budget != nil {
		v.budget = *d.Budget
	}
	if d.Head != "" {
		v.head = d.Head
	}
	if d.Ref != "" {
		v.ref = d.Ref
	}
}

// status is the run's state for people: one that waits for a person is waiting, whatever its phase.
func (v *view) status() string {
	if v.wait.For != "" {
		return "waiting"
	}
	return string(v.state)
}

// over reports whether a run has ended, for good or until it is resumed.
func over(s run.Status) bool {
	switch s {
	case run.Done, run.Parked, run.Stopped, run.Cancelled:
		return true
	default:
		return false
	}
}

func (v *view) add(t spec.Task) {
	if v.planned[t.ID] {
		return
	}
	row := v.row(t.ID)
	row.Title, row.Role = t.Title, t.Role
	v.planned[t.ID] = t.Shard == nil
}

func (v *view) row(id string) *TaskRow {
	if r := v.tasks[id]; r != nil {
		return r
	}
	r := &TaskRow{ID: id, State: run.TaskPending}
	v.tasks[id] = r
	v.order = append(v.order, id)
	return r
}

func (v *view) applyTask(e *contextscope.Event, d run.TaskData) {
	if e.Task == "" {
		return
	}
	row := v.row(e.Task)
	row.State, row.Reason, row.Unverified = d.State, d.Reason, false
	if d.Reason == "" && d.Fault != nil {
		row.Reason = d.Fault.Message
	}
	if d.State == run.TaskRunning && d.Dispatch != nil {
		row.Attempt = d.Dispatch.Attempt
		if row.Role == "" {
			row.Role = d.Dispatch.Role
		}
	}
	v.dismiss(func(a *agent) bool {
		return a.task == e.Task && d.State != run.TaskRunning ||
			a.task == e.Task+verifySuffix && d.State != run.TaskVerifying
	})
}

func (v *view) applyLanding(d run.LandingData) {
	to := map[string]run.TaskState{
		run.LandingTesting: run.TaskLanding, run.LandingLanded: run.TaskLanded,
		run.LandingSplit: run.TaskProven,
	}[d.State]
	if to == run.TaskProven && v.unverified != "" {
		to = run.TaskUnverified
	}
	for _, l := range d.Tasks {
		row := v.tasks[l.Task]
		if row == nil || to == "" {
			continue
		}
		row.State = to
		if to == run.TaskLanded {
			row.Unverified = d.Unverified != ""
			row.Commit, row.Added, row.Deleted, row.Files = l.Commit, l.Added, l.Deleted, l.Files
		}
	}
}

func (v *view) applyAgent(e *contextscope.Event) {
	id := e.Agent
	if id == "" {
		id = fmt.Sprintf("%s/%d", e.Task, e.Attempt)
	}
	switch e.Kind {
	case contextscope.KindStarted:
		v.dismiss(func(a *agent) bool { return a.id == id })
		v.agents = append(v.agents, &agent{id: id, task: e.Task, role: e.Role, doing: "starting", since: e.Time})
	case contextscope.KindProgress:
		for _, a := range v.agents {
			if a.id == id {
				a.doing = data[wire.Progress](e).Doing
			}
		}
	case contextscope.KindRequest, contextscope.KindTool:
		v.waits(id, e)
	case contextscope.KindUsage:
		u := data[spec.Usage](e)
		v.usage = v.usage.Add(u)
		if row := v.tasks[strings.TrimSuffix(e.Task, verifySuffix)]; row != nil {
			row.Tokens += u.Total()
		}
	case contextscope.KindReceipt:
		v.gates[e.Task]++
	case contextscope.KindResult:
		v.dismiss(func(a *agent) bool { return a.id == id })
	}
}

func (v *view) dismiss(gone func(*agent) bool) {
	kept := v.agents[:0]
	for _, a := range v.agents {
		if !gone(a) {
			kept = append(kept, a)
		}
	}
	clear(v.agents[len(kept):])
	v.agents = kept
}

// rows returns the planned tasks in plan order.
func (v *view) rows() []TaskRow {
	var out []TaskRow
	for _, id := range v.order {
		if v.planned[id] {
			out = append(out, *v.tasks[id])
		}
	}
	return out
}
