package decision_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/request"
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

// weak is the doubt about the tests of a shard, in words of its own, with findings of more kinds.
func weak(i int, more ...string) run.Doubt {
	return run.Doubt{Kinds: append([]string{"fewer assertions"}, more...), Evidence: []string{
		fmt.Sprintf("t-%d/x_test.go: fewer assertions, %d before and %d after", i, i+2, i+1),
		fmt.Sprintf("the tests of the package in t-%d noticed %d changes of the code, before the patch and after it: too few to tell", i, i),
	}}
}

// skips is the doubt that a shard skips a test.
func skips(i int) run.Doubt {
	return run.Doubt{Kinds: []string{"more skips"}, Evidence: []string{fmt.Sprintf("t-%d/x_test.go: more skips, 0 before and 1 after", i)}}
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
	holds(l, "t-3", 1, weak(3, "another value"))
	holds(l, "t-4", 1, weak(4, "another value"))
	holds(l, "t-5", 1, skips(5))
	require.Equal(t, [][]string{{"t-3", "t-4", "t-0", "t-1", "t-2"}, {"t-5"}}, asked(l.State))
	require.Equal(t, []string{"a"}, only(t, l.State, run.DecidePatch).Tasks, "one that is no shard stands alone")
	d := decision.Open(l.State)[2]
	require.Equal(t, "a decision about 5 shards of t with findings of the same kind: t-3/x_test.go: fewer assertions, 5 before and 4 after", d.Text)
	require.Equal(t, "t-4: t-4/x_test.go: fewer assertions, 6 before and 5 after", d.Evidence[2])
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
			actions, _, err := decision.Take(l.State, run.Answer{ID: shown.ID, Option: c.option, Text: c.text, By: ada})
			require.NoError(t, err)
			l.Do(actions)
			holds(l, "t-3", 1, weak(3)) // the person has not seen this one
			for i, state := range c.states {
				by := map[bool]string{true: ada}[state != run.TaskHeld]
				require.Equal(t, by, l.Decisions.By(fmt.Sprintf("t-%d", i)), "no master decides over it: %d", i)
			}
			carried := decision.Carry(l.State, time.Time{})
			require.Len(t, carried, 1, "no kill leaves a part of it")
			l.Do(carried)
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

// What lies on a queue that no worker serves keeps no question from a person.
func TestAGroupWaitsForNoShardThatNoWorkerServes(t *testing.T) {
	t.Parallel()
	l := shards(t, 2, func(s *run.Spec) {
		s.Roles["generator"] = spec.Role{Name: "generator", Executor: spec.ExecutorCommand, Command: []string{"sh"}}
	})
	holds(l, "t-0", 1, weak(0))
	l.Dispatched("t-1", "generator", 1, "b")
	about := func(d run.Decision) bool { return d.About == "t-0" }
	require.False(t, slices.ContainsFunc(decision.ForPerson(l.State), about))
	l.Append("", run.Data{Unserved: map[string]run.Unserved{"generator": {Why: "none has it"}}})
	require.True(t, slices.ContainsFunc(decision.ForPerson(l.State), about))
}

// An answer is for the patches that its id was shown for: not for one that has come between them in the log, and not for another
// attempt.
func TestAnIDStandsForExactlyTheMembers(t *testing.T) {
	t.Parallel()
	ada := wire.Person("ada")
	l := shards(t, 4, nil)
	holds(l, "t-0", 1, weak(0))
	holds(l, "t-1", 1, skips(1))
	holds(l, "t-2", 1, weak(2))
	shown := decision.Open(l.State)[2]
	require.Equal(t, []string{"t-0", "t-2"}, shown.Tasks)
	holds(l, "t-3", 1, weak(3, "more skips"))
	require.Equal(t, [][]string{{"t-3", "t-0", "t-1", "t-2"}}, asked(l.State))
	_, _, err := decision.Take(l.State, run.Answer{ID: shown.ID, Option: run.Accept, By: ada})
	now := decision.Open(l.State)[2]
	require.ErrorContains(t, err, "the answer is for "+shown.ID+", and "+now.ID+" about t-3, t-0, t-1, t-2 has come since: see that one first")

	actions, _, err := decision.Take(l.State, run.Answer{ID: now.ID, Option: run.Accept, By: ada, NotBefore: time.Unix(9, 0)})
	require.NoError(t, err)
	l.Do(actions)
	l.Append("t-1", run.TaskData{State: run.TaskPending})
	holds(l, "t-1", 2, skips(1))
	l.Append("t-2", run.TaskData{State: run.TaskSkipped})
	apply, _, err := decision.Apply(l.State, now.ID)
	require.NoError(t, err)
	l.Do(apply)
	l.Do(decision.Carry(l.State, time.Time{}))
	require.Equal(t, [][]string{{"t-1"}}, asked(l.State), "its new attempt was not shown")
	for task, state := range map[string]run.TaskState{
		"t-0": run.TaskRunning, "t-1": run.TaskHeld, "t-2": run.TaskSkipped, "t-3": run.TaskRunning,
	} {
		require.Equal(t, state, l.Tasks.ByID[task].State, task)
	}
}

// After a kill behind the first of its events the rest of an answer that is too long for one message is carried out.
func TestALongAnswerIsCarriedOutAfterAKill(t *testing.T) {
	t.Parallel()
	l := shards(t, 30, nil)
	for i := range 30 {
		holds(l, fmt.Sprintf("t-%d", i), 1, weak(i))
	}
	d := decision.Open(l.State)[2]
	actions, _, err := decision.Take(l.State, run.Answer{
		ID: d.ID, Option: run.Reject, Text: strings.Repeat("x", request.MaxMessage), By: wire.Person("ada"),
	})
	require.NoError(t, err)
	l.Do(actions)
	carried := decision.Carry(l.State, time.Time{})
	require.Greater(t, len(carried), 30)
	l.Do(carried[:1])
	require.Equal(t, run.TaskHeld, l.Tasks.ByID["t-1"].State)
	l.Do(decision.Carry(l.State, time.Time{}))
	require.Empty(t, asked(l.State))
	require.Empty(t, l.Decisions.Waiting())
}

// An answer about one shard leaves the others open.
func TestAnAnswerAboutOneOfAGroupIsItsOwn(t *testing.T) {
	t.Parallel()
	ada := wire.Person("ada")
	for name, take := range map[string]func(s *run.State, task string) ([]run.Action, string, error){
		"accept TASK": func(s *run.State, task string) ([]run.Action, string, error) {
			return decision.TakeAbout(s, task, run.Answer{Option: run.Accept, Attempt: 1, By: ada})
		},
		"of": func(s *run.State, task string) ([]run.Action, string, error) {
			return decision.Take(s, run.Answer{ID: decision.Open(s)[2].ID, Option: run.Accept, Of: task, By: ada})
		},
		"its own id": func(s *run.State, task string) ([]run.Action, string, error) {
			id := run.DecisionID(task, s.Tasks.ByID[task].Doubt().Pos)
			return decision.Take(s, run.Answer{ID: id, Option: run.Accept, By: ada})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := shards(t, 3, nil)
			for i := range 3 {
				holds(l, fmt.Sprintf("t-%d", i), 1, weak(i))
			}
			for i, left := range [][][]string{{{"t-1", "t-2"}}, {{"t-2"}}} {
				actions, _, err := take(l.State, fmt.Sprintf("t-%d", i))
				require.NoError(t, err)
				l.Do(actions)
				require.Equal(t, left, asked(l.State), "while it is held back")
			}
			_, _, err := take(l.State, "t-0")
			require.Error(t, err, "it has an answer")
			l.Do(decision.Carry(l.State, time.Time{}))
			l.Do(decision.Carry(l.State, time.Time{}))
			require.Equal(t, run.TaskRunning, l.Tasks.ByID["t-1"].State)
			require.Equal(t, [][]string{{"t-2"}}, asked(l.State))
		})
	}
}

// One of a group that has an answer is refused another one.
func TestOneOfAnAnsweredGroupHasTheAnswer(t *testing.T) {
	t.Parallel()
	ada := wire.Person("ada")
	l := shards(t, 2, nil)
	holds(l, "t-0", 1, weak(0))
	holds(l, "t-1", 1, weak(1))
	d := decision.Open(l.State)[2]
	actions, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Reject, Text: "no", By: ada})
	require.NoError(t, err)
	l.Do(actions)
	_, _, err = decision.TakeAbout(l.State, "t-1", run.Answer{Option: run.Accept, By: ada})
	require.ErrorContains(t, err, d.ID+" has an answer: reject by user:ada: no")
	own := run.DecisionID("t-1", l.Tasks.ByID["t-1"].Doubt().Pos)
	_, _, err = decision.Take(l.State, run.Answer{ID: own, Option: run.Accept, By: ada})
	require.ErrorContains(t, err, d.ID+" has an answer: reject by user:ada: no")
	back, _, err := decision.TakeBack(l.State, d.ID, ada)
	require.NoError(t, err)
	l.Do(back)
	require.Equal(t, d, decision.Open(l.State)[2])
}

// Shards whose tests notice nothing are no part of a group whose tests notice something. A doubt of a log that has no kinds is alike
// to those in the same words.
func TestWhatNoticesNothingStandsApart(t *testing.T) {
	t.Parallel()
	l := shards(t, 6, nil)
	holds(l, "t-0", 1, weak(0))
	holds(l, "t-1", 1, weak(1, run.NoticedNone))
	holds(l, "t-2", 1, run.Doubt{Evidence: []string{"x: fewer assertions"}})
	holds(l, "t-3", 1, weak(3))
	holds(l, "t-4", 1, run.Doubt{Evidence: []string{"y: fewer assertions"}})
	holds(l, "t-5", 1, run.Doubt{Evidence: []string{"y: fewer assertions"}})
	require.Equal(t, [][]string{{"t-0", "t-3"}, {"t-1"}, {"t-2"}, {"t-4", "t-5"}}, asked(l.State))
}
