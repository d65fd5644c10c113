package conductor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/textfile"
	"divisi/orchestrator/master"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

const manyTasks = 2000

// manyTree is a commit with the files.
type manyTree []string

// Files implements Tree.
func (m manyTree) Files(context.Context) ([]string, error) {
	return slices.Sorted(slices.Values(m)), nil
}

// Match implements Tree.
func (m manyTree) Match(_ context.Context, _ *textfile.Pattern, files []string) (map[string]int, []string, error) {
	out := map[string]int{}
	for _, f := range files {
		out[f] = 1
	}
	return out, nil, nil
}

// Links implements Tree.
func (m manyTree) Links(context.Context) ([]string, error) { return nil, nil }

// Sizes implements Tree.
func (m manyTree) Sizes(context.Context) (map[string]int64, error) { return nil, nil }

// Read implements Tree.
func (m manyTree) Read(context.Context, string) ([]byte, error) { return nil, nil }

// Shards implements Tree.
func (m manyTree) Shards(context.Context, []string) ([]string, error) { return nil, nil }

// manyFiles is a commit with enough files for that many shards.
func manyFiles() manyTree {
	var t manyTree
	for i := range manyTasks {
		t = append(t, fmt.Sprintf("services/team%02d/package%04d/handler.go", i%40, i))
	}
	return t
}

// manyPlan is two templates of that many shards: in a run each of the second waits for all of the first.
func manyPlan() spec.Plan {
	return spec.Plan{
		Goal: "much", Constraints: []string{strings.Repeat("Do not touch what you were not asked to. ", 20)},
		Tasks: []spec.Task{
			{ID: "move", Role: "mod", Brief: strings.Repeat("Replace the old call by the new one. ", 50), Shard: &spec.Shard{By: "file", MaxFiles: 1}},
			{ID: "check", Role: "mod", Brief: "b", Shard: &spec.Shard{By: "file", MaxFiles: 1}},
		},
	}
}

func manyState() *run.State {
	st := run.NewState()
	st.Spec = manySpec()
	return st
}

func manySpec() run.Spec {
	return run.Spec{Run: "r1", Parallel: 8, AutoApprove: true, Roles: map[string]spec.Role{
		"mod": {Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"true"}, Writes: true}, "tester": {Name: "tester"},
	}}
}

// many is a state that has taken the plan, and the plan's event as it travels.
func many(t testing.TB) (*run.State, []byte) {
	t.Helper()
	st := manyState()
	data, problems, err := plan.Prepare(t.Context(), manyPlan(), &st.Agenda, st.Works, manyFiles())
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Len(t, data.Tasks, 2*manyTasks)
	for i := manyTasks; i < 2*manyTasks; i++ {
		data.Tasks[i].DependsOn = []string{"move"}
	}
	data.By = run.ByFile
	st = run.NewState()
	s := manySpec()
	apply(t, st, contextscope.KindRun, "", run.Data{State: run.Running, Spec: &s})
	message := apply(t, st, contextscope.KindPlan, "", data)
	return st, message
}

// apply sends an event through the form in which it travels into the state.
func apply(t testing.TB, st *run.State, kind contextscope.Kind, task string, data any) []byte {
	t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(t, err)
	message, err := wire.EncodeEvents([]contextscope.Event{{V: 1, Kind: kind, Task: task, Data: raw, Time: time.Unix(1, 0)}})
	require.NoError(t, err)
	message, err = wire.Press("", message)
	require.NoError(t, err)
	events := wire.DecodeEvents(bus.Message{Data: message, Pos: st.Pos + 1})
	require.NoError(t, st.Apply(&events[0]))
	return message
}

// gaveBack folds the result of a task's first attempt.
func gaveBack(t testing.TB, st *run.State, id, summary string) {
	t.Helper()
	raw, err := json.Marshal(spec.Result{Attempt: 1, Status: spec.StatusDone, Handoff: spec.Handoff{Summary: summary}})
	require.NoError(t, err)
	require.NoError(t, st.Apply(&contextscope.Event{
		Kind: contextscope.KindResult, Agent: id + "/1", Task: id, Attempt: 1, Pos: st.Pos + 1, Data: raw,
	}))
}

func TestAPlanOfThousandsOfTasksFitsIntoOneMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about size, and slow under the race detector")
	}
	t.Parallel()
	st, message := many(t)
	require.Less(t, len(message), bus.MaxData)
	require.Len(t, st.Tasks.Order, 2*manyTasks)
	require.Len(t, st.Tasks.Shards["move"], manyTasks)
}

func TestAPlanThatTheLogCannotTakeIsItsAuthorsToMend(t *testing.T) {
	t.Parallel()
	planned := manyPlan()
	planned.Tasks[0].Brief = strings.Repeat("a longer brief ", 4000)
	st := manyState()
	_, problems, err := plan.Prepare(t.Context(), planned, &st.Agenda, st.Works, manyFiles())
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "more than the log takes")
}

func TestSchedulingThousandsOfTasksThatWaitForThousands(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about size, and slow under the race detector")
	}
	t.Parallel()
	st, _ := many(t)
	for i, id := range st.Tasks.Shards["move"] {
		ready, unreachable := schedule.Ready(st)
		require.Empty(t, unreachable)
		require.Contains(t, ready, id)
		apply(t, st, contextscope.KindTask, id, run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "mod"}})
		if i == 0 {
			require.NotContains(t, first(schedule.Ready(st)), id)
		}
		gaveBack(t, st, id, "")
		apply(t, st, contextscope.KindTask, id, run.TaskData{State: run.TaskDone})
	}
	require.Equal(t, st.Tasks.Shards["check"][:8], first(schedule.Ready(st)))
}

func TestATemplateWithAParkedShardDoomsWhatWaitsForIt(t *testing.T) {
	t.Parallel()
	st, _ := many(t)
	apply(t, st, contextscope.KindTask, "move-1000", run.TaskData{State: run.TaskParked, Reason: "red"})
	_, unreachable := schedule.Ready(st)
	require.Len(t, unreachable, manyTasks)
	require.Equal(t, "depends on move-1000, which is parked", unreachable["check-001"])
}

func first(ready []string, _ map[string]string) []string { return ready }

func TestAMasterIsToldOfThousandsOfTasksWithinReason(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about size, and slow under the race detector")
	}
	t.Parallel()
	st, _ := many(t)
	last := st.Tasks.ByID[st.Tasks.Order[len(st.Tasks.Order)-1]]
	for _, id := range st.Tasks.Order {
		apply(t, st, contextscope.KindTask, id, run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "mod"}})
		gaveBack(t, st, id, strings.Repeat("well ", 200))
		end := run.TaskData{State: run.TaskLanded}
		if id == last.Task.ID {
			end = run.TaskData{State: run.TaskParked, Reason: "it is the only one that failed"}
		}
		apply(t, st, contextscope.KindTask, id, end)
	}
	text := master.Message(&st.Agenda, &st.Agents, 0)
	require.Less(t, len(text), 97<<10)
	require.Contains(t, text, last.Reason, "failures are told first")
	require.Contains(t, text, "more: landed")
	require.Contains(t, text, "call submit_result")
}

func BenchmarkReadyOfThousands(b *testing.B) {
	st, _ := many(b)
	for b.Loop() {
		schedule.Ready(st)
	}
}
