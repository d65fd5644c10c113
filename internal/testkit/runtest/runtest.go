// Package runtest builds states of a run from events, and describes the actions that rules propose, for tests of rules as
// tables. It folds its input with the product's fold, and never needs a bus.
package runtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Log is a run whose log a test writes.
type Log struct {
	testing.TB
	*run.State

	// Events are the appended events, with positions.
	Events []contextscope.Event
	now    time.Time
}

// New returns a run with the specification, in a phase.
func New(t testing.TB, s run.Spec, phase run.Status) *Log {
	t.Helper()
	l := &Log{TB: t, State: run.NewState()}
	if s.Run == "" {
		s.Run = "r1"
	}
	l.Append("", run.Data{State: phase, Spec: &s})
	return l
}

// Timed is a run that a test writes with its times, from its beginning on.
func Timed(t testing.TB) (l *Log, at func(time.Duration)) {
	t.Helper()
	created := time.Unix(1000, 0)
	l = New(t, run.Spec{Created: created, Roles: Roles()}, run.Running)
	return l, func(d time.Duration) { l.At(created.Add(d)) }
}

// Roles are a generator, a tester that runs gates, a reviewer, a reader and a master.
func Roles() map[string]spec.Role {
	return map[string]spec.Role{
		"generator": {Name: "generator", Executor: spec.ExecutorModel, Writes: true, Tools: []string{spec.ToolWriteFile}},
		"reader":    {Name: "reader", Executor: spec.ExecutorModel},
		"tester":    {Name: "tester"},
		"reviewer":  {Name: "reviewer", Executor: spec.ExecutorModel},
		"master":    {Name: "master", Executor: spec.ExecutorModel},
	}
}

func (l *Log) apply(e contextscope.Event, data any) {
	l.Helper()
	raw, err := json.Marshal(data)
	require.NoError(l, err)
	e.Pos, e.Data, e.Time = l.Pos+1, raw, time.Unix(int64(l.Pos)+1, 0)
	if !l.now.IsZero() {
		e.Time = l.now
	}
	e.ID = fmt.Sprint(e.Pos)
	l.Events = append(l.Events, e)
	require.NoError(l, l.Apply(&e))
}

// At gives the events that follow a time. Before that each is a second after the one before it.
func (l *Log) At(now time.Time) { l.now = now }

// Append folds an event of the conductor.
func (l *Log) Append(task string, data any) {
	l.Helper()
	l.apply(contextscope.Event{Kind: run.Append{Data: data}.Kind(), Task: task}, data)
}

// Do folds the events that actions append.
func (l *Log) Do(actions []run.Action) {
	l.Helper()
	for _, action := range actions {
		switch a := action.(type) {
		case run.Append:
			l.Append(a.Task, a.Data)
		case run.Assign:
			l.Append(a.Task, a.Data)
		case run.Write:
			l.Message(a.Task, a.Text)
		case run.Together:
			l.Do(a.Actions)
		}
	}
}

// Message folds a message of a person to the agents of a task.
func (l *Log) Message(task, words string) {
	l.Helper()
	e := contextscope.Event{
		Kind: contextscope.KindUser, Task: task, Author: wire.Person("ada"),
		Content: genai.NewContentFromText(words, genai.RoleUser),
	}
	l.apply(e, struct{}{})
}

// Plan folds the plan of a plan file. Tasks have three attempts unless they say otherwise.
func (l *Log) Plan(tasks ...spec.Task) {
	l.Helper()
	for i := range tasks {
		if tasks[i].Attempts == 0 {
			tasks[i].Attempts = 3
		}
	}
	l.Append("", run.PlanData{By: run.ByFile, Tasks: tasks})
}

// Dispatched folds that an attempt of a task, or of its tester, was dispatched.
func (l *Log) Dispatched(work, role string, attempt int, head string) {
	l.Helper()
	task, tests := strings.CutSuffix(work, run.VerifySuffix)
	d := run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: work, Attempt: attempt, Role: role, Head: head}}
	if tests {
		d.State = run.TaskVerifying
	}
	l.Append(task, d)
}

// Gates folds that one of the run's own gate runs was dispatched.
func (l *Log) Gates(id string, attempt int, head string) {
	l.Helper()
	l.Append("", run.Data{Dispatch: &run.Dispatch{Task: id, Attempt: attempt, Role: "tester", Head: head}})
}

// Agent folds an event of an attempt's agent, which worker a wrote.
func (l *Log) Agent(work string, attempt int, kind contextscope.Kind, data any) {
	l.Helper()
	l.By("a", work, attempt, kind, data)
}

// By folds an event of an attempt's agent that a worker wrote.
func (l *Log) By(worker, work string, attempt int, kind contextscope.Kind, data any) {
	l.Helper()
	e := contextscope.Event{Kind: kind, Task: work, Attempt: attempt, Agent: wire.AgentID(work, attempt), Worker: worker}
	l.apply(e, data)
}

// BatchWork is the id of the first gate run of a batch.
func BatchWork(batch int) string { return fmt.Sprintf("%s-%d", run.BatchTask, batch) }

// Tests has a batch of tasks begin its gates.
func (l *Log) Tests(batch int, tasks ...string) {
	work := &run.Dispatch{Task: BatchWork(batch), Attempt: 1, Role: "tester", Head: "h"}
	l.Append("", run.LandingData{
		Batch: batch, State: run.LandingTesting, Head: "h", Tree: "t", Tasks: landed(tasks), Dispatch: work,
	})
}

// Lands has a batch of tasks land.
func (l *Log) Lands(batch int, tasks ...string) {
	l.Append("", run.LandingData{Batch: batch, State: run.LandingLanded, Tasks: landed(tasks)})
}

func landed(tasks []string) (out []run.Landed) {
	for _, id := range tasks {
		out = append(out, run.Landed{Task: id, Attempt: 1, Commit: "l-" + id})
	}
	return out
}

// Ended folds the result of an attempt.
func (l *Log) Ended(work string, attempt int, r spec.Result) {
	l.Helper()
	r.Task, r.Attempt = work, attempt
	l.Agent(work, attempt, contextscope.KindResult, r)
}

// Failed is a result that ended with a fault.
func Failed(class, message string) spec.Result {
	return spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: class, Message: message}}
}

// Patched is a result with a patch.
func Patched(commit, tree, base string) spec.Result {
	p := &spec.Patch{Commit: commit, Tree: tree, Base: base, Files: []string{"a.go"}}
	return spec.Result{Status: spec.StatusDone, Patch: p}
}

// Describe writes actions as words, one each.
func Describe(actions []run.Action) []string {
	out := []string{}
	for _, action := range actions {
		switch a := action.(type) {
		case run.Assign:
			d := a.Dispatch
			uses := strings.TrimSuffix(" uses "+d.Uses, " uses ")
			out = append(out, fmt.Sprintf("assign %s to %s on %s%s", wire.AgentID(d.Task, d.Attempt), d.Role, d.Head, uses))
		case run.Append:
			out = append(out, describe(a))
		case run.Fail:
			out = append(out, "fail: "+a.Err.Error())
		case run.Tell:
			out = append(out, "tell "+a.Work)
		case run.TakeBack:
			out = append(out, "take back "+a.Work.ID)
		case run.Write:
			out = append(out, fmt.Sprintf("write to %s: %s", a.Task, a.Text))
		case run.End:
			out = append(out, fmt.Sprintf("end as %s: %s", a.Data.State, a.Data.Reason))
		case run.SyncHead:
			out = append(out, "move the branch")
		default:
			out = append(out, strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", action), "run.")))
		}
	}
	return out
}

func describe(a run.Append) string {
	words := []string{string(a.Kind()), a.Task}
	switch d := a.Data.(type) {
	case run.Data:
		words = append(words, string(d.State), d.Reason)
		words = append(words, d.Notices...)
		if d.Wait != nil {
			words = append(words, "waits for "+*d.Wait)
		}
	case run.TaskData:
		words = append(words, string(d.State), d.Role, d.Reason)
		if d.Doubt != nil {
			words = append(words, "doubt:", strings.Join(d.Doubt.Evidence, "; "))
		}
		if d.Decision != nil {
			words = append(words, "decided by", d.Decision.Answer.By)
		}
	case run.LandingData:
		words = append(words, d.State)
		for _, t := range d.Tasks {
			words = append(words, t.Task)
		}
		if len(d.Parts) > 0 {
			words = append(words, "parts")
		}
		for _, p := range d.Parts {
			words = append(words, strings.Join(p, "+"))
		}
	case run.PlanData:
		words = append(words, "by", d.By)
	case wire.Answer:
		words = append(words, d.Text, d.Refused)
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}
