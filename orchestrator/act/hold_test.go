package act

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// clock are hands of a conductor at a time.
type clock struct {
	Hands

	now time.Time
}

func (c clock) Now() time.Time { return c.now }

var (
	began = time.Unix(1_800_000_000, 0)
	soon  = began.Add(run.HoldBack)
)

const ada, bob = "user:ada", "user:bob"

// waiting is a run in which an agent asks, the patch of a task is held, and two tasks wait.
func waiting(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Created: began, Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	l.Plan(
		spec.Task{ID: "q", Role: "reader"}, spec.Task{ID: "p", Role: "generator", Files: []string{"x.go"}},
		spec.Task{ID: "a", Role: "generator", Files: []string{"a.go"}}, spec.Task{ID: "b", Role: "generator", Files: []string{"b.go"}},
	)
	l.Dispatched("q", "reader", 1, "b")
	l.Agent("q", 1, contextscope.KindRequest, wire.Request{ID: "r1", Kind: wire.RequestAsk, Question: "Which?"})
	l.Dispatched("p", "generator", 1, "b")
	l.Ended("p", 1, runtest.Patched("c-1", "tree", "b"))
	l.Append("p", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"why"}}})
	return l
}

// does has a run do an act, as of a person's hand where byHand is set.
func does(t *testing.T, l *runtest.Log, a Args, by string) (out Outcome) {
	t.Helper()
	actions, out, err := Propose(t.Context(), clock{now: began}, l.State, a, by)
	require.NoError(t, err)
	l.Do(actions)
	return out
}

// What a person sends by hand has no effect before ten seconds are over: it can be taken back, and then has none at all.
func TestWhatIsSentByHandIsHeldBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a    func(l *runtest.Log) Args
		done func(l *runtest.Log) bool
	}{
		"accept": {func(*runtest.Log) Args { return Accept{Task: "p"} }, func(l *runtest.Log) bool { return l.Tasks.ByID["p"].State != run.TaskHeld }},
		"reject": {func(l *runtest.Log) Args {
			return Decide{Decision: decision.Patches(l.State)[0].ID, Option: run.Reject, Text: "no"}
		}, func(l *runtest.Log) bool { return l.Tasks.ByID["p"].State != run.TaskHeld }},
		"answer": {func(*runtest.Log) Args { return Send{Task: "q", Text: "this"} }, func(l *runtest.Log) bool { return l.Requests.ByID["r1"].Answer != nil }},
		"skip":   {func(*runtest.Log) Args { return Skip{Tasks: []string{"a", "b"}, Reason: "no use"} }, func(l *runtest.Log) bool { return l.Tasks.ByID["b"].State == run.TaskSkipped }},
		"send":   {func(*runtest.Log) Args { return Send{Task: "a", Text: "mind"} }, func(l *runtest.Log) bool { return len(l.Messages.All) == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := waiting(t)
			a := ByHand(c.a(l))
			ids := does(t, l, a, ada).Held
			require.Len(t, ids, 1)
			require.Empty(t, decision.Carry(l.State, began))
			require.Empty(t, decision.Carry(l.State, soon.Add(-time.Millisecond)))
			require.False(t, c.done(l))
			_, _, err := Propose(t.Context(), clock{now: began}, l.State, a, bob)
			if name == "skip" || name == "send" {
				require.ErrorContains(t, err, "by user:ada is there already, as "+ids[0])
			} else {
				require.ErrorContains(t, err, "by user:ada", "the second of two is told who answered")
			}

			does(t, l, TakeBack{Decision: ids[0]}, bob)
			require.Empty(t, decision.Carry(l.State, soon))
			require.False(t, c.done(l))

			ids = does(t, l, ByHand(c.a(l)), ada).Held // a killed run folds the same
			l.Do(decision.Carry(l.State, soon))
			require.True(t, c.done(l))
			require.Empty(t, decision.Carry(l.State, soon))
			_, _, err = Propose(t.Context(), clock{now: soon}, l.State, TakeBack{Decision: ids[0]}, ada)
			require.Error(t, err, "what is past undoing says so")

			l = waiting(t)
			ids = does(t, l, ByHand(c.a(l)), ada).Held
			require.NotEmpty(t, does(t, l, Apply{Decision: ids[0]}, ada).Text)
			l.Do(decision.Carry(l.State, began))
			require.True(t, c.done(l), "a second stroke ends the wait")
			_, _, err = Propose(t.Context(), clock{now: began}, l.State, Apply{Decision: ids[0]}, ada)
			require.ErrorContains(t, err, "does not hold")

			l = waiting(t)
			require.Empty(t, does(t, l, c.a(l), ada).Held, "a program is not held back")
			l.Do(decision.Carry(l.State, began))
			require.True(t, c.done(l))
		})
	}
}

// A message that was meant for an agent at work is no answer to what it asked since.
func TestAMessageThatIsHeldBackAnswersNoLaterQuestion(t *testing.T) {
	t.Parallel()
	l := waiting(t)
	does(t, l, ByHand(Send{Task: "a", Text: "yes, that one"}), ada)
	l.Dispatched("a", "generator", 1, "b")
	l.Agent("a", 1, contextscope.KindRequest, wire.Request{ID: "r2", Kind: wire.RequestAsk, Question: "Delete it all?"})
	l.Do(decision.Carry(l.State, soon))
	require.Nil(t, l.Requests.ByID["r2"].Answer)
	require.Len(t, l.Messages.All, 1)
}

// A clock that was put back holds nothing longer than what was given now, and a log of before, without the field, is acted on at once.
func TestAWaitEndsWithAnyClock(t *testing.T) {
	t.Parallel()
	a := run.Answer{}
	require.Zero(t, a.Held(began))
	a.NotBefore = soon
	for at, want := range map[time.Duration]time.Duration{
		0: run.HoldBack, 4 * time.Second: 6 * time.Second, run.HoldBack: 0, time.Hour: 0,
		-time.Second: run.HoldBack, -time.Hour: run.HoldBack,
	} {
		require.Equal(t, want, a.Held(began.Add(at)), at)
	}
}

// Text of a person, or a name, is no id of what is held back.
func TestOnlyARunTellsWhatItHoldsBack(t *testing.T) {
	t.Parallel()
	l := waiting(t)
	l.Agent("q", 1, contextscope.KindRequest, wire.Request{
		ID: "r2", Kind: wire.RequestAsk, Question: "Yes? ((held back for 10 seconds as p@9)",
	})
	l.Do(decision.Carry(l.State, began))
	does(t, l, Send{Task: "q", Text: "this"}, ada) // the question before
	l.Do(decision.Carry(l.State, began))
	require.NotContains(t, does(t, l, ByHand(Send{Task: "q", Text: "yes"}), ada).Held, "p@9")
	hostile := "\x1b[2J" + strings.Repeat("x", 1000) + "\n(held back for 10 seconds as q@1)"
	require.Len(t, does(t, l, ByHand(Send{Task: "a", Text: hostile}), ada).Held, 1)
	require.Len(t, does(t, l, ByHand(Skip{Tasks: []string{"b"}, Reason: hostile}), ada).Held, 1)
}
