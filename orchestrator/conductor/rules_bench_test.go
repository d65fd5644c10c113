package conductor

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// openTasks are the tasks that have not ended while events are measured: most wait for one that runs.
const openTasks = 50

// BenchmarkRules prints what an event of an agent costs, folded and with all rules asked, after few and after many finished
// tasks, and the ratio of the two.
func BenchmarkRules(b *testing.B) {
	few, many := busyRun(b, 100), busyRun(b, 5000)
	for b.Loop() {
		// The cheapest of several rounds in turn: what the machine does besides falls on both.
		costs := [2]time.Duration{time.Hour, time.Hour}
		for range 20 {
			costs[0], costs[1] = min(costs[0], few(b)), min(costs[1], many(b))
		}
		b.ReportMetric(float64(costs[0].Nanoseconds())/1000, "µs/event-after-100")
		b.ReportMetric(float64(costs[1].Nanoseconds())/1000, "µs/event-after-5000")
		b.ReportMetric(float64(costs[1])/float64(costs[0]), "ratio")
	}
}

// busyRun is a run of a master in which tasks have finished: with messages that came too late, questions, answers and delegated
// tasks. The function returns what one more event costs.
func busyRun(b *testing.B, finished int) func(*testing.B) time.Duration {
	b.Helper()
	l := runtest.New(b, run.Spec{Roles: runtest.Roles(), Parallel: 1, Project: spec.Project{Gates: []spec.Gate{{Name: "test"}}}}, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	l.Dispatched(run.MasterTask, "master", 1, "b")
	l.Ended(run.MasterTask, 1, spec.Result{Status: spec.StatusDone})
	var tasks []spec.Task
	for i := range finished + openTasks {
		tasks = append(tasks, spec.Task{ID: fmt.Sprintf("t%05d", i), Role: "generator", Attempts: 3, Verify: "tester"})
	}
	for i := finished + 1; i < len(tasks); i++ {
		tasks[i].DependsOn = []string{tasks[finished].ID}
	}
	l.Append("", run.PlanData{By: "master/1", Tasks: tasks})
	l.Append("", run.Data{Decision: &run.Decided{Kind: run.DecidePlan, Closed: true, Answer: run.Answer{Option: run.Yes}}})
	for i, t := range tasks[:finished] {
		finish(l, t.ID, i)
	}
	id := tasks[finished].ID
	l.Dispatched(id, "generator", 1, "b")
	c := newConductor(Config{Interactive: true}, l.State)
	settle(b, c, l)
	return func(b *testing.B) time.Duration {
		b.Helper()
		const events = 100
		began := time.Now()
		for range events {
			l.Agent(id, 1, contextscope.KindProgress, wire.Progress{Doing: "reading"})
			for _, rule := range c.rules(b.Context()) {
				require.Empty(b, rule(l.State))
			}
		}
		return time.Since(began) / events
	}
}

// finish folds the life of one task: a question and its answer, a delegated task, and a message that comes too late.
func finish(l *runtest.Log, id string, n int) {
	l.Dispatched(id, "generator", 1, "b")
	ask, have := fmt.Sprintf("%s/1/1-0", id), fmt.Sprintf("%s/1/1-1", id)
	l.Agent(id, 1, contextscope.KindRequest, wire.Request{ID: ask, Kind: wire.RequestAsk, Question: "which name?"})
	l.Append(id, wire.Answer{Request: ask, Text: "the old one", From: "user:ada"})
	l.Agent(id, 1, contextscope.KindRequest, wire.Request{ID: have, Kind: wire.RequestDelegate, Role: "reader", Brief: "read"})
	child := id + "-reader"
	l.Append("", run.PlanData{By: wire.AgentID(id, 1), Request: have, Tasks: []spec.Task{{ID: child, Role: "reader", Attempts: 3}}})
	l.Dispatched(child, "reader", 1, "b")
	l.Ended(child, 1, spec.Result{Status: spec.StatusDone})
	l.Append(child, run.TaskData{State: run.TaskDone})
	l.Append(id, wire.Answer{Request: have, Task: child})
	l.Message(id, fmt.Sprintf("message %d", n))
	l.Ended(id, 1, runtest.Patched("c", "t", "b"))
	l.Append("", run.LandingData{Batch: n + 1, State: run.LandingLanded, Head: "c", Tasks: []run.Landed{{Task: id, Commit: "c"}}})
}

// settle folds what the rules still propose about what has happened.
func settle(b *testing.B, c *Conductor, l *runtest.Log) {
	b.Helper()
	for i, rules := 0, c.rules(b.Context()); i < len(rules); i++ {
		actions := rules[i](l.State)
		for _, a := range actions {
			appended, ok := a.(run.Append)
			require.True(b, ok, "%T", a)
			l.Append(appended.Task, appended.Data)
			i = -1
		}
	}
}
