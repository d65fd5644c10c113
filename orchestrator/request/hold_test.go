package request

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// template is a run whose plan has a template with some shards, and a task that waits for none.
func template(t *testing.T, onDoubt string, shards int) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{
		Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 64, OnDoubt: onDoubt,
	}, run.Running)
	var tasks []spec.Task
	for i := range shards {
		file := fmt.Sprintf("svc/p%03d/x.go", i+1)
		tasks = append(tasks, spec.Task{
			ID: fmt.Sprintf("t-%03d", i+1), ShardOf: "t", Role: "generator", Brief: "old", Files: []string{file}, Attempts: 5,
		})
	}
	l.Plan(append(tasks, spec.Task{ID: "other", Role: "generator"})...)
	return l
}

// fails lets an attempt of a shard fail with a name that is missing.
func fails(l *runtest.Log, n int, missing string) {
	id := fmt.Sprintf("t-%03d", n)
	attempt := l.Tasks.ByID[id].Attempt + 1
	l.Dispatched(id, "generator", attempt, "b")
	l.Ended(id, attempt, runtest.Failed("x", "y"))
	l.Do(recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID[id], spec.Fault{
		Class: wire.FaultGate, Message: "red", Signatures: []string{fmt.Sprintf("build: build: svc/p%03d/x.go: undefined: %s", n, missing)},
	}))
}

func TestThreeShardsThatFailAlikeHoldTheOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log  func(l *runtest.Log)
		held bool
	}{
		"three alike":         {func(l *runtest.Log) { fails(l, 1, "f"); fails(l, 2, "f"); fails(l, 3, "f") }, true},
		"two alike":           {func(l *runtest.Log) { fails(l, 1, "f"); fails(l, 2, "f"); fails(l, 3, "g") }, false},
		"one, three times":    {func(l *runtest.Log) { fails(l, 1, "f"); fails(l, 1, "f"); fails(l, 1, "f") }, false},
		"as many have passed": {func(l *runtest.Log) { passes(l, 4, 5, 6); fails(l, 1, "f"); fails(l, 2, "f"); fails(l, 3, "f") }, true},
		"more have passed":    {func(l *runtest.Log) { passes(l, 4, 5, 6, 7); fails(l, 1, "f"); fails(l, 2, "f"); fails(l, 3, "f") }, false},
		"one of them passed after it": {
			func(l *runtest.Log) { fails(l, 1, "f"); fails(l, 2, "f"); passes(l, 1); fails(l, 3, "f") }, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := template(t, run.OnDoubtAsk, 9)
			c.log(l)
			l.Do(Hold(l.State))
			require.Empty(t, Hold(l.State), "it is asked once")
			require.Equal(t, c.held, l.Templates.Held[l.Tasks.ByID["t-009"]] != nil)
			ready, _ := schedule.Ready(l.State)
			require.Contains(t, ready, "other")
			require.Equal(t, !c.held, len(ready) > 1, "%v", ready)
			if c.held {
				h := l.Templates.Holds()[0]
				require.Equal(t, "3 shards fail in the same way, such as t-003/1: red", h.Why())
			}
		})
	}
}

func passes(l *runtest.Log, shards ...int) {
	for _, n := range shards {
		l.Append(fmt.Sprintf("t-%03d", n), run.TaskData{State: run.TaskLanded})
	}
}

func held(t *testing.T, onDoubt string) *runtest.Log {
	t.Helper()
	l := template(t, onDoubt, 9)
	for n := range 3 {
		fails(l, n+1, "f")
	}
	l.Do(Hold(l.State))
	require.Len(t, l.Templates.Holds(), 1)
	return l
}

func TestAHoldIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	l := held(t, run.OnDoubtAsk)
	require.Empty(t, ReviseAfterPlan(l.State), "a person is asked")
	actions, _, err := Send(&l.Agenda, &l.Agents, "t", "legacy is gone: use modern", wire.Person("ada"))
	require.NoError(t, err)
	l.Do(actions)
	require.Empty(t, l.Templates.Holds())
	for _, id := range l.Tasks.Shards["t"] {
		require.Equal(t, "old\n\nlegacy is gone: use modern", l.Tasks.ByID[id].Task.Brief)
	}
	require.Equal(t, run.Choice{}, l.Tasks.ByID["t-001"].Next, "fresh attempts")
	ready, _ := schedule.Ready(l.State)
	require.Equal(t, []string{"t-001", "t-002", "t-003", "other"}, ready, "the new brief is tried on a few")

	for _, again := range []func() error{
		func() error {
			_, err := Accept(&l.Agenda, l.Works, "t", run.Answer{By: wire.Person("ada")})
			return err
		},
		func() error {
			_, _, err := Send(&l.Agenda, &l.Agents, "t", "words", wire.Person("ada"))
			return err
		},
		func() error {
			_, err := Cancel(&l.Agenda, l.Works, "t", "why", wire.Person("ada"))
			return err
		},
	} {
		require.EqualError(t, again(), "the hold of t was answered already: revise by user")
	}
	fails(l, 4, "f")
	fails(l, 5, "f")
	require.Empty(t, Hold(l.State), "what failed before the new brief does not count")
	fails(l, 6, "f")
	require.Len(t, Hold(l.State), 1)
}

func TestATemplateThatIsNotHeldHasNoAnswer(t *testing.T) {
	t.Parallel()
	l := template(t, run.OnDoubtAsk, 3)
	_, err := Accept(&l.Agenda, l.Works, "t", run.Answer{By: wire.Person("ada")})
	require.EqualError(t, err, "the shards of t are not held: name one of them, such as t-001")
	_, err = Accept(&l.Agenda, l.Works, "nothing", run.Answer{By: wire.Person("ada")})
	require.ErrorContains(t, err, `no task "nothing"`)
}

func TestAHoldThatIsAcceptedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	l := held(t, run.OnDoubtAsk)
	actions, err := Accept(&l.Agenda, l.Works, "t", run.Answer{By: wire.Person("ada")})
	require.NoError(t, err)
	l.Do(actions)
	fails(l, 4, "f")
	require.Empty(t, Hold(l.State))
	for n := range 4 {
		fails(l, n+1, "another")
	}
	require.Len(t, Hold(l.State), 1, "but for another failure")
}

func TestThePolicyAnswersAHoldThatNoMasterDoes(t *testing.T) {
	t.Parallel()
	l := held(t, run.OnDoubtReject)
	l.Dispatched("t-009", "generator", 1, "b") // it had begun before
	l.Do(RuleHold(&l.Agenda, l.Templates.Of["t"].Open(), false))
	require.Equal(t, "policy parks the rest of t, as no person is asked: 3 shards fail in the same way, such as t-003/1: red", l.Tasks.ByID["t-008"].Reason)
	require.Equal(t, run.TaskParked, l.Tasks.ByID["t-001"].State)
	require.Equal(t, run.TaskRunning, l.Tasks.ByID["t-009"].State)
	require.Empty(t, Hold(l.State), "nothing is left to be held")
	l.Ended("t-009", 1, runtest.Failed("x", "y"))
	l.Append("t-009", run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Class: "x", Message: "y"}})
	l.Do(Hold(l.State))
	l.Do(RuleHold(&l.Agenda, l.Templates.Of["t"].Open(), false))
	require.Equal(t, run.TaskParked, l.Tasks.ByID["t-009"].State)

	l = held(t, run.OnDoubtAccept)
	l.Do(RuleHold(&l.Agenda, l.Templates.Of["t"].Open(), true))
	ready, _ := schedule.Ready(l.State)
	require.Len(t, ready, 10)
}

// A change set is held as a whole, with the tasks that are no shards.
func TestAChangeSetIsHeldAsAWhole(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 64}, run.Running)
	tasks := []spec.Task{{ID: "declare", Role: "generator", ChangeSet: "s", Attempts: 5}}
	for n := range 4 {
		tasks = append(tasks, spec.Task{
			ID: fmt.Sprintf("t-%03d", n+1), ShardOf: "t", ChangeSet: "s", Role: "generator", Attempts: 5,
			Files: []string{fmt.Sprintf("svc/p%03d/x.go", n+1)},
		})
	}
	l.Plan(tasks...)
	for n := range 3 {
		fails(l, n+1, "f")
	}
	l.Do(Hold(l.State))
	ready, _ := schedule.Ready(l.State)
	require.Empty(t, ready)
}

// A person who parks a template parks its patches too; the policy of the run has them tested, and asks no second time.
func TestThePatchesOfAParkedTemplate(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]run.TaskState{wire.Person("ada"): run.TaskParked, run.ByPolicy: run.TaskAccepted} {
		l := held(t, run.OnDoubtReject)
		l.Append("t-009", run.TaskData{State: run.TaskAccepted})
		l.Do(parkHeld(&l.Agenda, l.Templates.Of["t"].Open(), by, ""))
		require.Equal(t, want, l.Tasks.ByID["t-009"].State, by)
		require.Equal(t, run.TaskParked, l.Tasks.ByID["t-008"].State)
		require.Empty(t, Hold(l.State))
	}
}
