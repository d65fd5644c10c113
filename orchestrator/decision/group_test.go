package decision_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// shards is a run with as many shards of t, which nothing has been done about.
func shards(t *testing.T, n int, configure func(*run.Spec)) *runtest.Log {
	t.Helper()
	l := started(t, configure)
	all := make([]spec.Task, n)
	for i := range all {
		all[i] = spec.Task{ID: fmt.Sprintf("t-%d", i), ShardOf: "t", Role: "generator", Attempts: 5, Files: []string{fmt.Sprintf("t-%d/x.go", i)}}
	}
	l.Plan(all...)
	return l
}

// weak is the doubt about the tests of a shard, in words of its own.
func weak(i int, more ...string) run.Doubt {
	return run.Doubt{Evidence: append([]string{
		fmt.Sprintf("t-%d/x_test.go: fewer assertions, %d before and %d after", i, i+2, i+1),
		fmt.Sprintf("the tests of the package in t-%d noticed %d changes of the code, before the patch and after it: too few to tell", i, i),
	}, more...)}
}

// about are the decisions about the tasks of shards, each a list.
func asked(s *run.State) (out [][]string) {
	for _, d := range decision.Open(s) {
		if d.Kind == run.DecidePatch && d.Tasks[0] != "a" {
			out = append(out, d.Tasks)
		}
	}
	return out
}

func TestShardsWithFindingsOfOneKindAreOneDecision(t *testing.T) {
	t.Parallel()
	l := shards(t, 6, nil)
	for i := range 3 {
		holds(l, fmt.Sprintf("t-%d", i), 1, weak(i))
	}
	holds(l, "t-3", 1, weak(3, `t-3/x_test.go:7: a test expects 5 in place of "a b"`))
	holds(l, "t-4", 1, weak(4, `t-4/x_test.go:9: a test expects "c" in place of 7`))
	holds(l, "t-5", 1, run.Doubt{Evidence: []string{"t-5/x_test.go: more skips, 0 before and 1 after"}})
	require.Equal(t, [][]string{{"t-3", "t-4", "t-0", "t-1", "t-2"}, {"t-5"}}, asked(l.State))
	require.Equal(t, []string{"a"}, only(t, l.State, run.DecidePatch).Tasks, "one that is no shard stands alone")
	d := decision.Open(l.State)[2]
	require.Equal(t, "a decision about 5 shards of t with findings of the same kind: t-3/x_test.go: fewer assertions, 5 before and 4 after", d.Text)
	require.Equal(t, "t-4: t-4/x_test.go: fewer assertions, 6 before and 5 after", d.Evidence[3])
	require.Len(t, decision.Patches(l.State), 7, "for answers that stand each is one")
}

func TestAnswersAboutAGroup(t *testing.T) {
	t.Parallel()
	ada := wire.Person("ada")
	for name, c := range map[string]struct {
		option, text string
		states       [4]run.TaskState
	}{
		"accept":     {run.Accept, "", [4]run.TaskState{run.TaskRunning, run.TaskRunning, run.TaskRunning, run.TaskHeld}},
		"skip":       {run.Skip, "", [4]run.TaskState{run.TaskSkipped, run.TaskSkipped, run.TaskSkipped, run.TaskHeld}},
		"reject all": {run.Reject, "Keep it: all of it.", [4]run.TaskState{run.TaskPending, run.TaskPending, run.TaskPending, run.TaskHeld}},
		"reject one": {run.Reject, "t-1: Keep it.", [4]run.TaskState{run.TaskHeld, run.TaskPending, run.TaskHeld, run.TaskHeld}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := shards(t, 4, nil)
			for i := range 3 {
				holds(l, fmt.Sprintf("t-%d", i), 1, weak(i))
			}
			shown := decision.Open(l.State)[2]
			holds(l, "t-3", 1, weak(3)) // the person has not seen this one
			require.Len(t, decision.Open(l.State)[2].Tasks, 4)
			actions, _, err := decision.Take(l.State, run.Answer{ID: shown.ID, Option: c.option, Text: c.text, By: ada})
			require.NoError(t, err)
			act(l, actions)
			for i, state := range c.states {
				require.Equal(t, state, l.Tasks.ByID[fmt.Sprintf("t-%d", i)].State, i)
			}
			require.Empty(t, l.Decisions.Waiting())
			var left []string
			for i, state := range c.states {
				if state == run.TaskHeld {
					left = append(left, fmt.Sprintf("t-%d", i))
				}
			}
			require.Equal(t, [][]string{left}, asked(l.State), "the others stay open")
			_, _, err = decision.Take(l.State, run.Answer{ID: shown.ID, Option: c.option, Text: c.text, By: ada})
			require.Error(t, err, "it was given")
		})
	}
}

// An answer for one of a group makes the decision about the others another one.
func TestTheOthersOfAGroupStayOpen(t *testing.T) {
	t.Parallel()
	l := shards(t, 4, nil)
	for i := range 4 {
		holds(l, fmt.Sprintf("t-%d", i), 1, weak(i))
	}
	ids := map[string]bool{}
	for i, reject := range []string{"t-1", "t-0", "t-2", "t-3"} {
		open := decision.Open(l.State)
		d := open[slices.IndexFunc(open, func(d run.Decision) bool { return slices.Contains(d.Tasks, reject) })]
		require.False(t, ids[d.ID])
		ids[d.ID] = true
		require.Len(t, d.Tasks, 4-i)
		actions, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Reject, Text: reject + ": Why", By: wire.Person("ada")})
		require.NoError(t, err)
		act(l, actions)
		require.Equal(t, run.TaskPending, l.Tasks.ByID[reject].State)
	}
	require.Empty(t, asked(l.State))
}

func TestThePolicyAnswersAGroup(t *testing.T) {
	t.Parallel()
	l := shards(t, 3, func(s *run.Spec) { s.OnDoubt = run.OnDoubtReject })
	for i := range 3 {
		holds(l, fmt.Sprintf("t-%d", i), 1, weak(i))
	}
	l.Do(decision.Policy(l.State)) // about a
	l.Do(decision.Policy(l.State))
	require.Empty(t, decision.Open(l.State)[1:], "the question stays")
	require.True(t, l.Tasks.ByID["t-2"].Refused())
}

// A person is asked about the shards of a command once, when those at work have come; an answer given before counts.
func TestAGroupIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	for role, waits := range map[string]bool{"generator": false, "sh": true} {
		l := shards(t, 2, func(s *run.Spec) {
			s.Roles["sh"] = spec.Role{Name: "sh", Executor: spec.ExecutorCommand, Command: []string{"sh"}}
		})
		for i := range 2 {
			l.Tasks.ByID[fmt.Sprintf("t-%d", i)].Task.Role = role
		}
		l.Dispatched("t-1", role, 1, "b")
		holds(l, "t-0", 1, weak(0))
		ids := func() (ids []string) {
			for _, d := range decision.ForPerson(l.State) {
				ids = append(ids, d.Tasks...)
			}
			return ids
		}
		require.Equal(t, waits, len(ids()) == 1, role)
		_, _, err := decision.TakeAbout(l.State, "t-0", run.Answer{Option: run.Accept, By: wire.Person("ada")})
		require.NoError(t, err)
		l.Append("t-1", run.TaskData{State: run.TaskCancelled})
		require.Equal(t, []string{"a", "t-0"}, ids(), role)
	}
}
