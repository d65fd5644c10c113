package dashboard

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// A decision tells the shape of its patch, what the task was told, and what was decided about its first patch.
func TestADecisionTellsItsTask(t *testing.T) {
	t.Parallel()
	log := newLog()
	put := func(kind contextscope.Kind, attempt int, data any) {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		log.add(contextscope.Event{Run: "r1", Kind: kind, Task: "put-001", Attempt: attempt, Agent: "put-001/1", Data: raw})
	}
	put(contextscope.KindRun, 0, run.Data{State: run.Running, Spec: &run.Spec{Run: "r1", OnDoubt: run.OnDoubtAsk}})
	put(contextscope.KindPlan, 0, run.PlanData{DecisionRecord: "Names stay.", Tasks: []spec.Task{
		{ID: "put-001", Role: "generator", ShardOf: "put", Brief: "Put a word."},
	}})
	for n := 1; n <= 2; n++ {
		put(contextscope.KindTask, n, run.TaskData{
			State: run.TaskRunning, Dispatch: &run.Dispatch{Task: "put-001", Attempt: n, Role: "generator"},
		})
		put(contextscope.KindResult, n, spec.Result{
			Status: spec.StatusDone, Attempt: n, Patch: &spec.Patch{Files: []string{"a.go"}, Added: n, Deleted: 4},
		})
		put(contextscope.KindTask, n, run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"it deletes a test"}}})
		if n == 1 {
			put(contextscope.KindTask, n, run.TaskData{Decision: &run.Decided{Kind: run.DecidePatch, Closed: true, Answer: run.Answer{
				ID: "put-001@1", Option: run.Reject, Text: "Keep the test.", By: "user:ana",
			}}})
		}
	}
	b := newBoard()
	for _, batch := range log.batches {
		require.Empty(t, b.fold(batch))
	}
	b.with(func(s *run.State) {
		open := view.Open(s)
		require.Len(t, open, 1)
		d := open[0]
		require.Equal(t, []any{"put", 2, 4}, []any{d.Template, d.Added, d.Deleted})
		view.Recall(s, &d)
		require.Equal(t, "Put a word.", d.Brief)
		require.Equal(t, "Names stay.", d.Record)
		require.Equal(t, []run.Said{{Attempt: 1, Option: run.Reject, Text: "Keep the test.", By: "user:ana"}}, d.Before)
	})
}
