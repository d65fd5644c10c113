package recovery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

var began = time.Unix(1000, 0)

// fetching is a run with a template of n shards whose command has the network.
func fetching(t *testing.T, n int, role spec.Role) *runtest.Log {
	t.Helper()
	var tasks []spec.Task
	for i := range n {
		tasks = append(tasks, spec.Task{ID: fmt.Sprintf("t-%d", i+1), ShardOf: "t", Role: "fetch", Files: []string{fmt.Sprintf("a%d.txt", i+1)}})
	}
	l := newLog(t, 64, tasks...)
	role.Name, role.Writes = "fetch", true
	l.Spec.Roles["fetch"], l.Spec.OnDoubt = role, run.OnDoubtReject
	return l
}

// refused folds an attempt of a task that failed after a time, and what follows.
func refused(l *runtest.Log, id, class string, at time.Time, took time.Duration) {
	t := l.Tasks.ByID[id]
	l.At(at)
	n := t.Attempt + 1
	l.Dispatched(id, "fetch", n, "b")
	l.Agent(id, n, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.At(at.Add(took))
	l.Ended(id, n, runtest.Failed(class, "exited with 1: 502"))
	l.Do(recovery.Failed(&l.Agenda, &l.Agents, t, run.FaultOf(t.Result)))
}

// What a command with the network needs may be away: where it fails within seconds it runs once more, and that attempt does not
// count.
func TestACommandThatFailsAtOnceRunsOnceMore(t *testing.T) {
	t.Parallel()
	fetch := spec.Role{Executor: spec.ExecutorCommand, Network: true, Command: []string{"fetch", "{files}"}}
	for name, c := range map[string]struct {
		change func(*spec.Role)
		class  string
		took   time.Duration
		waits  bool
	}{
		"within seconds":           {nil, wire.FaultCommand, 2 * time.Second, true},
		"after half a minute":      {nil, wire.FaultCommand, 30 * time.Second, false},
		"not by its own":           {nil, wire.FaultWriteSet, time.Second, false},
		"without network":          {func(r *spec.Role) { r.Network = false }, wire.FaultCommand, time.Second, false},
		"a coding agent":           {func(r *spec.Role) { r.Usage = spec.AgentClaude }, wire.FaultCommand, time.Second, true},
		"a model":                  {func(r *spec.Role) { r.Executor = spec.ExecutorModel }, wire.FaultCommand, time.Second, false},
		"another executor follows": {func(r *spec.Role) { r.Chain = []string{spec.ExecutorModel} }, wire.FaultCommand, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role := fetch
			if c.change != nil {
				c.change(&role)
			}
			l := fetching(t, 1, role)
			refused(l, "t-1", c.class, began, c.took)
			one := l.Tasks.ByID["t-1"]
			require.Equal(t, c.waits, len(l.Later) == 1)
			require.Equal(t, c.waits, len(one.Faults) == 0)
			if !c.waits {
				return
			}
			require.Equal(t, run.TaskPending, one.State)
			require.Contains(t, one.Reason, "502; a service that it needs may be away: it runs once more after 30s")
			ready, _ := schedule.Ready(l.State)
			require.Empty(t, ready)
			ended := began.Add(c.took)
			require.Empty(t, recovery.Again(&l.Agents, ended.Add(29*time.Second), recovery.Wait))
			require.Len(t, recovery.Again(&l.Agents, ended.Add(-time.Hour), recovery.Wait), 1, "a clock that was set back")
			l.Do(recovery.Again(&l.Agents, ended.Add(30*time.Second), recovery.Wait))
			ready, _ = schedule.Ready(l.State)
			require.Equal(t, []string{"t-1"}, ready)
			require.Empty(t, l.Later)

			for range 3 {
				require.Equal(t, run.TaskPending, one.State)
				refused(l, "t-1", c.class, ended.Add(time.Minute), c.took)
			}
			require.Equal(t, run.TaskParked, one.State)
			require.Equal(t, "failed in the same way 3 times: exited with 1: 502"+recovery.TryLater, one.Reason)
		})
	}
}

// Shards that fail alike within seconds run once more before their template is held, and those that have not begun wait for them.
func TestATemplateIsHeldOnlyAfterAWait(t *testing.T) {
	t.Parallel()
	l := fetching(t, 6, spec.Role{Executor: spec.ExecutorCommand, Network: true, Command: []string{"fetch"}})
	refused(l, "t-1", wire.FaultCommand, began, time.Second)
	refused(l, "t-2", wire.FaultCommand, began, time.Second)
	ready, _ := schedule.Ready(l.State)
	require.Equal(t, []string{"t-3", "t-4", "t-5", "t-6"}, ready)
	refused(l, "t-3", wire.FaultCommand, began.Add(time.Second), time.Second)
	ready, _ = schedule.Ready(l.State)
	require.Empty(t, ready)
	require.Equal(t, map[string]string{
		"t-1": "waits for a service of its command, and runs once more",
		"t-2": "waits for a service of its command, and runs once more",
		"t-3": "waits for a service of its command, and runs once more",
		"t-4": "waits for shards of t that run once more: a service of their command may be away",
		"t-5": "waits for shards of t that run once more: a service of their command may be away",
		"t-6": "waits for shards of t that run once more: a service of their command may be away",
	}, schedule.Why(l.State))
	require.Empty(t, request.Hold(l.State))
	require.Empty(t, decision.Stuck(l.State))

	later := began.Add(time.Minute)
	l.Do(recovery.Again(&l.Agents, later, recovery.Wait))
	ready, _ = schedule.Ready(l.State)
	require.Equal(t, []string{"t-1", "t-2", "t-3"}, ready, "only those that failed")
	refused(l, "t-1", wire.FaultCommand, later, time.Second)
	refused(l, "t-2", wire.FaultCommand, later, time.Second)
	require.Empty(t, request.Hold(l.State))
	ready, _ = schedule.Ready(l.State)
	require.Equal(t, []string{"t-1", "t-2", "t-3"}, ready)
	refused(l, "t-3", wire.FaultCommand, later, time.Second)
	l.Do(request.Hold(l.State))
	require.Len(t, l.Templates.Holds(), 1)
	l.Do(request.RuleHold(&l.Agenda, l.Templates.Of["t"].Open(), false))
	require.Equal(t, "policy parks the rest of t, as no person is asked: 3 shards fail in the same way, such as t-3/2: "+
		"exited with 1: 502"+recovery.TryLater, l.Tasks.ByID["t-6"].Reason)
	for _, id := range l.Tasks.Order[3:] {
		require.Zero(t, l.Tasks.ByID[id].Attempt, id)
	}
}

// The others begin when what was away has come back, and when a person has the shards begin again.
func TestShardsBeginWhenWhatTheyNeedIsBack(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(*runtest.Log, string){
		"it makes a patch": func(l *runtest.Log, id string) {
			l.Dispatched(id, "fetch", 2, "b")
			l.Ended(id, 2, runtest.Patched("c", "tree", "b"))
			l.Append(id, run.TaskData{State: run.TaskAccepted})
		},
		"it is revised": func(l *runtest.Log, id string) {
			l.Append(id, run.TaskData{State: run.TaskPending, Revision: &run.Revision{By: wire.Person("ada")}})
		},
		"it is skipped": func(l *runtest.Log, id string) { l.Append(id, run.TaskData{State: run.TaskSkipped}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := fetching(t, 4, spec.Role{Executor: spec.ExecutorCommand, Network: true, Command: []string{"fetch"}})
			for _, id := range l.Tasks.Order[:3] {
				refused(l, id, wire.FaultCommand, began, time.Second)
			}
			require.True(t, l.Templates.Waits("t"))
			back(l, "t-1")
			require.NotContains(t, l.Later, "t-1")
			require.False(t, l.Templates.Waits("t"))
			ready, _ := schedule.Ready(l.State)
			require.Contains(t, ready, "t-4")
		})
	}
}
