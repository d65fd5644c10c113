package dashboard

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// steps are what a task of a large log does between its begin and its result.
const steps = 15

// large is the log of a run with many tasks, half of them shards of one template: it runs on, its last 64 tasks are at work, and each
// of the others has landed; at last one is
// parked. There are about twenty events a task.
func large(tasks int) *memoryLog {
	l, at := newLog(), time.Now().Add(-time.Hour)
	put := func(kind contextscope.Kind, task string, data any) {
		raw, err := json.Marshal(data)
		if err != nil {
			panic(err)
		}
		at = at.Add(time.Hour / time.Duration(tasks*(steps+6)))
		e := contextscope.Event{
			V: 1, ID: fmt.Sprintf("l%06d", len(l.batches)), Run: "r1", Task: task, Time: at, Kind: kind, Data: raw,
		}
		if task != "" && kind != contextscope.KindTask {
			e.Attempt, e.Agent, e.Role = 1, task+"/1", "generator"
		}
		l.add(e)
	}
	var plan []spec.Task
	for i := range tasks {
		t := spec.Task{ID: fmt.Sprintf("task-%04d", i), Title: fmt.Sprintf("Move package %d to the new logger", i), Role: "generator"}
		if i%2 == 0 {
			t.ShardOf = "move"
		}
		plan = append(plan, t)
	}
	put(contextscope.KindRun, "", run.Data{State: run.Running, Spec: &run.Spec{
		Run: "r1", Goal: "Move all packages to the new logger", Repo: "/repo", Base: "4be1c09d", Created: at, Parallel: 64,
	}})
	put(contextscope.KindPlan, "", run.PlanData{Tasks: plan})
	for i := range plan {
		id := plan[i].ID
		put(contextscope.KindTask, id, run.TaskData{
			State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "generator"},
		})
		put("started", id, map[string]any{"worker": "w1", "delivery": 1})
		for n := range steps {
			put(contextscope.KindProgress, id, map[string]any{"doing": fmt.Sprintf("editing internal/p%d/file%d.go", i, n)})
		}
		if i >= tasks-64 {
			continue
		}
		put("result", id, map[string]any{
			"task": id, "attempt": 1, "delivery": 1, "status": "done",
			"patch": map[string]any{"commit": "9f31d2", "base": "4be1c0", "files": []string{"a.go"}, "added": 12, "deleted": 7},
		})
		put(contextscope.KindTask, id, run.TaskData{State: run.TaskAccepted})
		put("landing", "", map[string]any{"batch": i + 1, "state": "landed", "old": "4be1c0", "head": "a17c55", "tasks": []map[string]any{
			{"task": id, "attempt": 1, "commit": "c0ffee", "added": 12, "deleted": 7, "files": 1},
		}})
	}
	put(contextscope.KindTask, plan[tasks-1].ID, run.TaskData{State: run.TaskParked, Reason: "the same failure three times"})
	return l
}

// BenchmarkRoom reads a run of five thousand tasks and a hundred thousand events as the first page of it has the server do. It
// reports how long the events take, and how long a view after one more event.
func BenchmarkRoom(b *testing.B) {
	log := large(5000)
	b.ReportMetric(float64(len(log.batches)), "events")
	for b.Loop() {
		board, h := newBoard(), newHub(defaultMemory)
		began := time.Now()
		for _, batch := range log.batches {
			for _, err := range board.fold(batch) {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-fold")
		began = time.Now()
		for _, batch := range log.batches {
			h.add(encode(batch))
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-encode")
		began = time.Now()
		data, version := board.after(0)
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-view")
		b.ReportMetric(float64(len(data)>>10), "KiB-view")
		began = time.Now()
		for range 20 {
			board.folded++
			data, version = board.after(version)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds())/20, "ms-view-again")
		b.ReportMetric(float64(len(data)>>10), "KiB-view-again")
	}
}
