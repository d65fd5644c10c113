package run_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

var states = []run.TaskState{
	run.TaskPending, run.TaskRunning, run.TaskVerifying, run.TaskAccepted, run.TaskLanding, run.TaskDone, run.TaskLanded,
	run.TaskParked, run.TaskCancelled,
}

// However tasks move, the indexes find what a walk over all of them finds.
func TestIndexesAgreeWithAWalk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
		var tasks []spec.Task
		for i := range 12 {
			task := spec.Task{ID: fmt.Sprintf("t%02d", i), Role: "generator"}
			if i >= 6 {
				task.ShardOf = fmt.Sprintf("template%d", i%2)
			}
			tasks = append(tasks, task)
		}
		l.Plan(tasks...)
		for range 120 {
			move(l, random)
			check(t, l.State)
		}
	}
}

// move folds one random event.
func move(l *runtest.Log, random *rand.Rand) {
	id := l.Tasks.Order[random.IntN(len(l.Tasks.Order))]
	w := l.Works[id]
	switch {
	case random.IntN(3) > 0 && w.Outstanding():
		l.Ended(id, w.Last, spec.Result{Status: spec.StatusDone})
	case random.IntN(3) == 0:
		next := 1
		if w != nil {
			next = w.Last + 1
		}
		l.Dispatched(id, "generator", next, "b")
	case random.IntN(4) == 0:
		l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Tasks: []run.Landed{{Task: id, Commit: "c"}}})
	default:
		l.Append(id, run.TaskData{State: states[random.IntN(len(states))]})
	}
}

func check(t *testing.T, s *run.State) {
	t.Helper()
	byState, open := map[run.TaskState][]*run.Task{}, []*run.Task(nil)
	for _, id := range s.Tasks.Order {
		v := s.Tasks.ByID[id]
		byState[v.State] = append(byState[v.State], v)
		if !v.Ended() {
			open = append(open, v)
		}
	}
	for _, state := range states {
		require.Len(t, byState[state], s.Tasks.Counts()[state], state)
		if !(&run.Task{State: state}).Ended() {
			require.Equal(t, byState[state], slices.Collect(s.Tasks.In(state)), state)
		}
	}
	require.Equal(t, len(byState[run.TaskParked])+len(byState[run.TaskCancelled]) == 0, s.Tasks.NoneGivenUp())
	require.Equal(t, open, slices.Collect(s.Tasks.Open()))
	require.Equal(t, len(open) == 0, s.Tasks.AllEnded())
	for _, template := range []string{"template0", "template1"} {
		ended, lost := true, false
		for _, id := range s.Tasks.Shards[template] {
			ended = ended && s.Tasks.ByID[id].Ended()
			lost = lost || s.Tasks.ByID[id].GivenUp()
		}
		met, gaveUp, known := s.Tasks.Depends(template)
		require.True(t, known)
		require.Equal(t, ended, met)
		if lost {
			require.NotNil(t, gaveUp, "a shard that was given up is named")
		}
	}
	for id, w := range s.Works {
		a := w.Attempts[w.Last]
		require.Equal(t, a.Result == nil, s.Queue[id] != nil, id)
	}
}

func TestEndsAreThoseSinceAPosition(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a"}, spec.Task{ID: "b"}, spec.Task{ID: "c"})
	l.Append("c", run.TaskData{State: run.TaskDone})
	from := l.Pos + 1
	l.Append("b", run.TaskData{State: run.TaskParked})
	l.Append("a", run.TaskData{State: run.TaskDone})
	require.Equal(t, []*run.Task{l.Tasks.ByID["a"], l.Tasks.ByID["b"]}, l.Tasks.Ends(from), "in plan order")
	require.Len(t, l.Tasks.Ends(0), 3)
	require.Empty(t, l.Tasks.Ends(l.Pos+1))
}

func TestAnAnsweredRequestIsNotWalkedAgain(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	l.Dispatched("a", "generator", 1, "b")
	for _, id := range []string{"q1", "q2"} {
		l.Agent("a", 1, "request", wire.Request{ID: id, Kind: wire.RequestAsk})
	}
	require.Len(t, l.OpenRequests(&l.Tasks), 2)
	l.Append("a", wire.Answer{Request: "q1"})
	require.Len(t, l.Requests.Unanswered, 1)
	require.Equal(t, "q2", l.OpenRequests(&l.Tasks)[0].ID)
	require.Len(t, l.Requests.Of["a"], 2)
	l.Append("a", run.TaskData{State: run.TaskCancelled})
	require.Empty(t, l.OpenRequests(&l.Tasks), "its agent does not wait any more")
}
