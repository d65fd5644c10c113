package request

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// mostWaiting is how many agents may wait before only their children are started.
const mostWaiting = 64

// fold folds an event of the conductor into the state.
func fold(t testing.TB, st *run.State, kind contextscope.Kind, task string, data any) {
	t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(t, err)
	require.NoError(t, st.Apply(&contextscope.Event{Kind: kind, Task: task, Data: raw, Pos: st.Pos + 1}))
}

// delegating is a state in which n of the tasks wait for a child each.
func delegating(t *testing.T, tasks, n int) *run.State {
	t.Helper()
	st := run.NewState()
	reader := spec.Role{Name: "reader", Executor: spec.ExecutorModel}
	fold(t, st, contextscope.KindRun, "", run.Data{State: run.Running, Spec: &run.Spec{
		Run: "r1", Parallel: 1000, Roles: map[string]spec.Role{"reader": reader, "lead": {Name: "lead", Executor: spec.ExecutorModel}},
	}})
	plan := run.PlanData{By: run.ByFile}
	for i := range tasks {
		plan.Tasks = append(plan.Tasks, spec.Task{ID: fmt.Sprintf("t%d", i), Role: "lead"})
	}
	fold(t, st, contextscope.KindPlan, "", plan)
	for i := range n {
		id := fmt.Sprintf("t%d", i)
		fold(t, st, contextscope.KindTask, id, run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "lead"}})
		q := wire.Request{ID: id + "/1/delegate-1-0", Kind: wire.RequestDelegate, Role: "reader"}
		raw, err := json.Marshal(q)
		require.NoError(t, err)
		require.NoError(t, st.Apply(&contextscope.Event{
			Kind: contextscope.KindRequest, Task: id, Attempt: 1, Agent: id + "/1", Pos: st.Pos + 1, Data: raw,
		}))
		fold(t, st, contextscope.KindPlan, "", run.PlanData{
			By: id + "/1", Request: q.ID, Tasks: []spec.Task{{ID: childID(&st.Tasks, st.Requests.ByID[q.ID]), Role: "reader"}},
		})
	}
	return st
}

func TestNothingIsBegunWhileTooManyWaitButWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	st := delegating(t, 100, mostWaiting)
	all, _ := st.Queue.AtWork()
	require.Zero(t, all)
	require.Equal(t, mostWaiting, st.Queue.Waiting())
	ready, _ := schedule.Ready(st)
	require.Len(t, ready, mostWaiting)
	for _, id := range ready {
		require.Equal(t, 1, st.Tasks.ByID[id].Depth, id)
	}
	st = delegating(t, 100, mostWaiting-1)
	ready, _ = schedule.Ready(st)
	require.Len(t, ready, 100, "the children, then all others")
	require.Equal(t, "t0-reader-1-0", ready[0])
}

func TestChildrenHaveIDsOfTheirCallThatArePlanIDs(t *testing.T) {
	t.Parallel()
	st := delegating(t, 1, 1)
	long := &run.Request{Of: "a-very-long-task-id_-of-the-greatest-length-that-there-can-be-0001", Attempt: 1}
	long.ID, long.Role = long.Agent()+"/delegate-123-63", "a--role-of-32-characters-in-all-"
	for _, id := range []string{childID(&st.Tasks, long), childID(&st.Tasks, st.Requests.ByID[st.Requests.Order[0]])} {
		p := spec.Plan{Tasks: []spec.Task{{ID: id, Role: "reader", Brief: "b"}}}
		require.Empty(t, p.Validate(spec.Env{Roles: st.Spec.Roles}), id)
	}
	require.Equal(t, "t0-reader-1-0-2", childID(&st.Tasks, st.Requests.ByID[st.Requests.Order[0]]), "the same call of another attempt")
}

// A child that has not begun holds nothing, and what it is to write is not for its parent, which waits for it, nor for others:
// held until the parent ends it would never be the child's.
func TestWhatAChildIsToWriteIsGrantedToNobodyElse(t *testing.T) {
	t.Parallel()
	st := delegating(t, 2, 1)
	writer := st.Spec.Roles["lead"]
	writer.Writes, writer.Tools = true, []string{spec.ToolWriteFile}
	st.Spec.Roles["lead"] = writer
	child := st.Tasks.ByID["t0-reader-1-0"]
	child.Task.Files = []string{"f01.txt", "f02.txt"}
	require.Zero(t, child.Attempt)
	q := &run.Request{Request: wire.Request{Paths: []string{"f01.txt"}}}
	for _, id := range []string{"t0", "t1"} {
		require.Contains(t, mayGrow(&st.Agenda, st.Tasks.ByID[id], q), "f01.txt belongs to t0-reader-1-0, which an agent waits for", id)
	}
	other := &run.Request{Request: wire.Request{Paths: []string{"f03.txt"}}}
	require.Empty(t, mayGrow(&st.Agenda, st.Tasks.ByID["t0"], other))
	fold(t, st, contextscope.KindTask, child.Task.ID, run.TaskData{State: run.TaskDone})
	require.Empty(t, mayGrow(&st.Agenda, st.Tasks.ByID["t0"], q), "it has ended")
}

// woken is a turn of the master that was acted upon. With sends it has answered somebody.
func woken(t *testing.T, st *run.State, sends bool) {
	t.Helper()
	n := st.Master.Woken + 1
	fold(t, st, contextscope.KindTask, run.MasterTask, run.TaskData{
		State: run.TaskRunning, Dispatch: &run.Dispatch{Task: run.MasterTask, Attempt: n, Role: spec.RoleMaster},
	})
	if sends {
		q := wire.Request{ID: fmt.Sprintf("master/%d/send-1-0", n), Kind: wire.RequestSend, Task: "t0", Text: "yes"}
		raw, err := json.Marshal(q)
		require.NoError(t, err)
		require.NoError(t, st.Apply(&contextscope.Event{
			Kind: contextscope.KindRequest, Task: run.MasterTask, Attempt: n, Agent: wire.AgentID(run.MasterTask, n), Pos: st.Pos + 1, Data: raw,
		}))
		fold(t, st, contextscope.KindAnswer, run.MasterTask, wire.Answer{Request: q.ID, Text: "t0 has it"})
	}
	fold(t, st, contextscope.KindTask, run.MasterTask, run.TaskData{State: run.TaskPending})
}

// Agents may ask as often as they like: a master that answers them moves its run on.
func TestTurnsInWhichTheMasterAnswersDoNotExhaustIt(t *testing.T) {
	t.Parallel()
	st := delegating(t, 1, 0)
	for range run.MaxWakes + 10 {
		woken(t, st, true)
		require.Empty(t, st.Master.GaveUp())
	}
	for range run.MaxWakes - 2 {
		woken(t, st, false)
		require.Empty(t, st.Master.GaveUp())
	}
	woken(t, st, false)
	require.Contains(t, st.Master.GaveUp(), "woken 50 times without coming to an end")
}

// A request that was answered twice, or by nobody's request, changes nothing the second time.
func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	st := delegating(t, 1, 1)
	id := st.Requests.Order[0]
	for range 2 {
		fold(t, st, contextscope.KindAnswer, "t0", wire.Answer{Request: id, Granted: []string{"a.go"}})
		fold(t, st, contextscope.KindAnswer, "t0", wire.Answer{Request: "nobody's", Granted: []string{"b.go"}})
	}
	require.Equal(t, []string{"a.go"}, st.Tasks.ByID["t0"].Task.Files)
	require.Zero(t, st.Works["t0"].Attempts[1].Open)
	require.Zero(t, st.Queue.Waiting())
}
