package orchestrator

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// delegating is a state in which n of the tasks wait for a child each.
func delegating(t *testing.T, tasks, n int) *State {
	t.Helper()
	st := NewState()
	reader := spec.Role{Name: "reader", Executor: spec.ExecutorModel}
	apply(t, st, contextscope.KindRun, "", RunData{State: RunRunning, Spec: &RunSpec{
		Run: "r1", Parallel: 1000, Roles: map[string]spec.Role{"reader": reader, "lead": {Name: "lead", Executor: spec.ExecutorModel}},
	}})
	plan := PlanData{By: ByFile}
	for i := range tasks {
		plan.Tasks = append(plan.Tasks, spec.Task{ID: fmt.Sprintf("t%d", i), Role: "lead"})
	}
	apply(t, st, contextscope.KindPlan, "", plan)
	for i := range n {
		id := fmt.Sprintf("t%d", i)
		apply(t, st, contextscope.KindTask, id, TaskData{State: TaskRunning, Dispatch: &Dispatch{Task: id, Attempt: 1, Role: "lead"}})
		q := wire.Request{ID: id + "/1/delegate-1-0", Kind: wire.RequestDelegate, Role: "reader"}
		raw, err := json.Marshal(q)
		require.NoError(t, err)
		require.NoError(t, st.Apply(&contextscope.Event{
			Kind: contextscope.KindRequest, Task: id, Attempt: 1, Agent: id + "/1", Pos: st.Pos + 1, Data: raw,
		}))
		apply(t, st, contextscope.KindPlan, "", PlanData{
			By: id + "/1", Request: q.ID, Tasks: []spec.Task{{ID: st.childID(st.Requests[q.ID]), Role: "reader"}},
		})
	}
	return st
}

func TestNothingIsBegunWhileTooManyWaitButWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	st := delegating(t, 100, maxWaiting)
	all, _ := st.AtWork()
	require.Zero(t, all)
	require.Equal(t, maxWaiting, st.Waiting())
	ready, _ := st.Ready()
	require.Len(t, ready, maxWaiting)
	for _, id := range ready {
		require.Equal(t, 1, st.Tasks[id].Depth, id)
	}
	ready, _ = delegating(t, 100, maxWaiting-1).Ready()
	require.Len(t, ready, 100, "the children, then all others")
	require.Equal(t, "t0-reader-1-0", ready[0])
}

func TestChildrenHaveIDsOfTheirCallThatArePlanIDs(t *testing.T) {
	t.Parallel()
	st := delegating(t, 1, 1)
	long := &RequestView{Of: "a-very-long-task-id_-of-the-greatest-length-that-there-can-be-0001", Attempt: 1}
	long.ID, long.Role = long.Agent()+"/delegate-123-63", "a--role-of-32-characters-in-all-"
	for _, id := range []string{st.childID(long), st.childID(st.Requests[st.Asked[0]])} {
		p := spec.Plan{Tasks: []spec.Task{{ID: id, Role: "reader", Brief: "b"}}}
		require.Empty(t, p.Validate(spec.Env{Roles: st.Spec.Roles}), id)
	}
	require.Equal(t, "t0-reader-1-0-2", st.childID(st.Requests[st.Asked[0]]), "the same call of another attempt")
}

// A child that has not begun holds nothing, and what it is to write is not for its parent, which waits for it, nor for others:
// held until the parent ends it would never be the child's.
func TestWhatAChildIsToWriteIsGrantedToNobodyElse(t *testing.T) {
	t.Parallel()
	st := delegating(t, 2, 1)
	writer := st.Spec.Roles["lead"]
	writer.Writes, writer.Tools = true, []string{spec.ToolWriteFile}
	st.Spec.Roles["lead"] = writer
	child := st.Tasks["t0-reader-1-0"]
	child.Task.Files = []string{"f01.txt", "f02.txt"}
	require.Zero(t, child.Attempt)
	q := &RequestView{Request: wire.Request{Paths: []string{"f01.txt"}}}
	for _, id := range []string{"t0", "t1"} {
		require.Contains(t, st.mayGrow(st.Tasks[id], q), "f01.txt is for t0-reader-1-0 to write, which an agent waits for", id)
	}
	other := &RequestView{Request: wire.Request{Paths: []string{"f03.txt"}}}
	require.Empty(t, st.mayGrow(st.Tasks["t0"], other))
	child.State = TaskDone
	require.Empty(t, st.mayGrow(st.Tasks["t0"], q), "it has ended")
}

// woken is a turn of the master that was acted upon. With sends it has answered somebody.
func woken(t *testing.T, st *State, sends bool) {
	t.Helper()
	n := st.Woken + 1
	apply(t, st, contextscope.KindTask, MasterTask, TaskData{
		State: TaskRunning, Dispatch: &Dispatch{Task: MasterTask, Attempt: n, Role: spec.RoleMaster},
	})
	if sends {
		q := wire.Request{ID: fmt.Sprintf("master/%d/send-1-0", n), Kind: wire.RequestSend, Task: "t0", Text: "yes"}
		raw, err := json.Marshal(q)
		require.NoError(t, err)
		require.NoError(t, st.Apply(&contextscope.Event{
			Kind: contextscope.KindRequest, Task: MasterTask, Attempt: n, Agent: wire.AgentID(MasterTask, n), Pos: st.Pos + 1, Data: raw,
		}))
		apply(t, st, contextscope.KindAnswer, MasterTask, wire.Answer{Request: q.ID, Text: "t0 has it"})
	}
	apply(t, st, contextscope.KindTask, MasterTask, TaskData{State: TaskPending})
}

// Agents may ask as often as they like: a master that answers them moves its run on.
func TestTurnsInWhichTheMasterAnswersDoNotExhaustIt(t *testing.T) {
	t.Parallel()
	st := delegating(t, 1, 0)
	for range maxWakes + 10 {
		woken(t, st, true)
		require.Empty(t, st.masterGaveUp())
	}
	for range maxWakes - 2 {
		woken(t, st, false)
		require.Empty(t, st.masterGaveUp())
	}
	woken(t, st, false)
	require.Contains(t, st.masterGaveUp(), "woken 50 times without coming to an end")
}

// A request that was answered twice, or by nobody's request, changes nothing the second time.
func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	st := delegating(t, 1, 1)
	id := st.Asked[0]
	for range 2 {
		apply(t, st, contextscope.KindAnswer, "t0", wire.Answer{Request: id, Granted: []string{"a.go"}})
		apply(t, st, contextscope.KindAnswer, "t0", wire.Answer{Request: "nobody's", Granted: []string{"b.go"}})
	}
	require.Equal(t, []string{"a.go"}, st.Tasks["t0"].Task.Files)
	require.Zero(t, st.Works["t0"].Attempts[1].Open)
	require.Zero(t, st.Waiting())
}
