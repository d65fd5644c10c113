package console

import (
	"fmt"
	"io"
	"testing"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// crowd is the log of a run with 64 agents at work: 40 of one template of 2,000 tasks, 24 alone. Each call of the function
// returns what they write in one second.
func crowd(now time.Time) (begun []contextscope.Event, second func(now time.Time) []contextscope.Event) {
	plan := run.PlanData{By: run.ByFile}
	for i := range 2000 {
		plan.Tasks = append(plan.Tasks, spec.Task{
			ID: fmt.Sprintf("move-%04d", i), ShardOf: "move", Role: "generator", Files: []string{fmt.Sprintf("pkg/p%d/a.go", i)},
		})
	}
	for i := range 24 {
		plan.Tasks = append(plan.Tasks, spec.Task{ID: fmt.Sprintf("alone-%02d", i), Role: "generator"})
	}
	roles := map[string]spec.Role{"generator": {Name: "generator", Writes: true, Executor: spec.ExecutorModel}}
	begun = append(begun, event(contextscope.KindRun, "", run.Data{
		State: run.Running, Spec: &run.Spec{Run: "r", Created: now, Roles: roles, Parallel: 64, AutoApprove: true, Plan: &spec.Plan{}},
	}), event(contextscope.KindPlan, "", plan))
	var ids []string
	agent := func(kind contextscope.Kind, id string, data any) contextscope.Event {
		e := event(kind, id, data)
		e.Agent, e.Attempt, e.Role, e.Worker = wire.AgentID(id, 1), 1, "generator", "w1"
		return e
	}
	for i := range 64 {
		id := plan.Tasks[(i+1960)%len(plan.Tasks)].ID
		ids = append(ids, id)
		begun = append(begun,
			event(contextscope.KindTask, id, run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "generator"}}),
			agent(contextscope.KindStarted, id, wire.Started{Delivery: 1}))
	}
	words := []string{"thinking", "running go test ./pkg/...", "reading pkg/a.go", "editing pkg/a.go", "writing"}
	n, pos := 0, uint64(0)
	stamp := func(events []contextscope.Event, now time.Time) []contextscope.Event {
		for i := range events {
			pos++
			events[i].Pos, events[i].Time = pos, now
		}
		return events
	}
	return stamp(begun, now), func(now time.Time) []contextscope.Event {
		var out []contextscope.Event
		for range 32 { // each agent every two seconds: the most that it may
			out = append(out, agent(contextscope.KindProgress, ids[n%64], wire.Progress{Doing: words[(n/3+n/64)%len(words)]}))
			n++
		}
		for i := range 10 {
			out = append(out, agent(contextscope.KindUsage, ids[(n+i)%64], spec.Usage{Calls: 1, Prompt: 9000, Output: 400}))
		}
		return stamp(out, now)
	}
}

// BenchmarkLiveView64Agents folds and draws a second of a run with 64 agents, at the rate of a real one: ten frames, each after a
// part of the events.
func BenchmarkLiveView64Agents(b *testing.B) {
	for _, width := range []int{80, 200} {
		b.Run(fmt.Sprint(width, " columns"), func(b *testing.B) {
			now := time.Unix(1_770_000_000, 0)
			c := New(Options{Out: io.Discard, Now: func() time.Time { return now }, Width: func() int { return width }})
			c.live = &live{paint: paint{color: true}} // without the goroutine that draws
			begun, second := crowd(now)
			c.Handle(begun)
			for b.Loop() {
				b.StopTimer()
				now = now.Add(time.Second)
				events := second(now)
				b.StartTimer()
				for i := range 10 {
					c.Handle(events[i*len(events)/10 : (i+1)*len(events)/10])
					c.draw()
					c.notify()
				}
			}
			perSecond := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			b.ReportMetric(perSecond, "ns/run-second")
			b.ReportMetric(perSecond/1e7, "%core")
		})
	}
}
