package decision_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// stood is a run with held patches of a, b and c, in which a person accepted that of a with all that are alike.
func stood(t *testing.T) (l *runtest.Log, a run.Decision) {
	t.Helper()
	l = started(t, nil)
	holds(l, "b", 1, toReview)
	holds(l, "c", 1, run.Doubt{Evidence: []string{"TestA did not run"}, Missing: map[string]string{"check": "o"}})
	a = of(t, l.State, "a")
	taken, outcome, err := decision.Stand(l.State, run.Answer{ID: a.ID, Option: run.Accept, Alike: true, By: wire.Person("ada")}, "shape")
	require.NoError(t, err)
	require.Equal(t, "the patch of a goes on, and each other one that is alike, until you take the answer to "+a.ID+" back", outcome)
	require.Len(t, taken, 1, "no kill comes between the answer and that it stands")
	l.Do(taken)
	return l, a
}

func of(t *testing.T, s *run.State, about string) run.Decision {
	t.Helper()
	for _, d := range decision.Patches(s) {
		if d.About == about {
			return d
		}
	}
	require.Fail(t, "no decision is open", about)
	return run.Decision{}
}

// Each patch that is alike is accepted in the name of the person, under review too; another one waits.
func TestAnAnswerStandsForWhatIsAlike(t *testing.T) {
	t.Parallel()
	l, a := stood(t)
	l.Do(decision.Carry(l.State, time.Time{}))
	b, c := of(t, l.State, "b"), of(t, l.State, "c")
	for _, other := range []string{"", "other"} {
		require.Empty(t, decision.Follow(l.State, &c, other), "shape %q", other)
	}
	for _, d := range []run.Decision{b, c} {
		act(l, decision.Follow(l.State, &d, "shape"))
		answer := l.Tasks.ByID[d.About].Doubts[0].Answer
		require.Equal(t, &run.Answer{ID: d.ID, Option: run.Accept, By: wire.Person("ada"), Standing: a.ID}, answer)
	}
	require.True(t, l.Tasks.ByID["b"].Reviewed())
	require.Empty(t, decision.Patches(l.State))
	require.Equal(t, 2, l.Standing.Of(a.ID).Given)
	r := view.Of(l.State)
	require.Equal(t, "user:ada accepts all that are alike to "+a.ID+", until that is taken back: 2 more so far", r.Standing[0].String())
	require.Contains(t, r.Doubts, "b/1: each patch is to be seen (accepted by user:ada, as all that are alike to "+a.ID+")")
	require.Contains(t, r.Doubts, "a/1: fewer tests (accepted by user:ada for all that are alike)")
}

// It ends when it is taken back: with its own answer where the run has not acted on that.
func TestAStandingAnswerEnds(t *testing.T) {
	t.Parallel()
	for _, acted := range []bool{false, true} {
		l, a := stood(t)
		want := a.ID + " is open again: " + a.Text
		if acted {
			l.Do(decision.Carry(l.State, time.Time{}))
			want = "the answer to " + a.ID + " stands for no other decision any more; answered decisions stay answered"
		}
		back, outcome, err := decision.TakeBack(l.State, a.ID, wire.Person("bob"))
		require.NoError(t, err)
		require.Equal(t, want, outcome)
		l.Do(back)
		require.Empty(t, l.Standing)
		b := of(t, l.State, "b")
		require.Empty(t, decision.Follow(l.State, &b, "shape"))
		require.Equal(t, acted, l.Tasks.ByID["a"].Doubts[0].Accepted())
		_, _, err = decision.TakeBack(l.State, a.ID, wire.Person("bob"))
		require.Error(t, err, "twice")
	}
}

// It ends with its own answer, where that fits no more.
func TestAStandingAnswerEndsWithAnAnswerThatIsOver(t *testing.T) {
	t.Parallel()
	l, _ := stood(t)
	l.Append("a", run.TaskData{State: run.TaskSkipped})
	l.Do(decision.Carry(l.State, time.Time{}))
	require.Contains(t, l.Notices[len(l.Notices)-1], "is over: ")
	require.Empty(t, l.Standing)
	b := of(t, l.State, "b")
	require.Empty(t, decision.Follow(l.State, &b, "shape"))
}

// A person who takes one of its answers back decides that one: the answer is not given again.
func TestWhatAStandingAnswerGaveIsTakenBack(t *testing.T) {
	t.Parallel()
	l, _ := stood(t)
	l.Do(decision.Carry(l.State, time.Time{}))
	b := of(t, l.State, "b")
	l.Do(decision.Follow(l.State, &b, "shape"))
	back, _, err := decision.TakeBack(l.State, b.ID, wire.Person("bob"))
	require.NoError(t, err)
	l.Do(back)
	require.Equal(t, b, of(t, l.State, "b"))
	require.Empty(t, decision.Follow(l.State, &b, "shape"))
	c := of(t, l.State, "c")
	require.NotEmpty(t, decision.Follow(l.State, &c, "shape"), "it stands for the others")
}

func TestWhatCannotStand(t *testing.T) {
	t.Parallel()
	l := started(t, nil)
	a, q := of(t, l.State, "a"), only(t, l.State, run.DecideQuestion)
	for name, c := range map[string]struct {
		answer       run.Answer
		shape, wrong string
	}{
		"a rejection":  {run.Answer{ID: a.ID, Option: run.Reject, Text: "no"}, "s", "only accept can be for every other one"},
		"stands alone": {run.Answer{ID: a.ID, Option: run.Accept}, "", "no other patch is alike to that of " + a.ID},
		"no decision":  {run.Answer{ID: "zz@1", Option: run.Accept}, "s", `has no decision "zz@1"`},
		"a question":   {run.Answer{ID: q.ID, Option: run.Reply, Text: "left"}, "s", "only accept can be for every other one"},
	} {
		c.answer.Alike, c.answer.By = true, wire.Person("ada")
		actions, _, err := decision.Stand(l.State, c.answer, c.shape)
		require.ErrorContains(t, err, c.wrong, name)
		require.Empty(t, actions, name)
	}
}
