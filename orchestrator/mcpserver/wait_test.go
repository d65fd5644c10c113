package mcpserver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

func TestWaitReturnsWhenSomethingNewNeedsAPerson(t *testing.T) {
	t.Parallel()
	p, l := newPlace(), begun(t)
	p.add(l)
	s := served(t, p, false)
	wait := func(after uint64, seconds int) waited {
		return answered[waited](t, s, "wait", waitFor{ofRun: ofRun{"r1"}, After: after, Seconds: seconds})
	}
	none := wait(0, 1)
	require.Equal(t, whyTime, none.Why)
	require.Equal(t, 2, none.Tasks)
	require.Equal(t, l.Pos, none.Position)

	later := make(chan waited, 1)
	go func() { later <- wait(none.Position, 60) }()
	hold(l, "a")
	p.add(l)
	held := <-later
	require.Equal(t, whyDecision, held.Why)
	require.Len(t, held.Decisions, 1)
	require.True(t, held.Decisions[0].New)

	require.Equal(t, whyDecision, wait(0, 60).Why, "it is open")
	had := wait(held.Position, 1)
	require.Equal(t, whyTime, had.Why, "it was open before")
	require.False(t, had.Decisions[0].New)

	hold(l, "b")
	p.add(l)
	both := wait(held.Position, 60)
	require.Equal(t, whyDecision, both.Why)
	require.Equal(t, []bool{false, true}, []bool{both.Decisions[0].New, both.Decisions[1].New})
}

func TestWaitReturnsWhenARunEnds(t *testing.T) {
	t.Parallel()
	p, l := newPlace(), begun(t)
	p.add(l)
	s := served(t, p, false)
	ends := make(chan waited, 1)
	go func() { ends <- answered[waited](t, s, "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 60}) }() //nolint:testifylint // the test waits for it
	l.Append("", run.Data{State: run.Parked, Reason: "2 parked"})
	p.add(l)
	p.leave()
	out := <-ends
	require.Equal(t, whyEnded, out.Why)
	require.Equal(t, "parked", out.State)
	require.Equal(t, "2 parked", out.Reason)
}

func TestWaitReturnsWhenNoProcessHasTheRun(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.add(begun(t))
	p.leave()
	out := answered[waited](t, served(t, p, false), "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 60})
	require.Equal(t, whyIdle, out.Why)
	require.Equal(t, "running", out.State)
}

// A run that has ended and goes on, because tasks are tried again, is followed until its process is gone.
func TestWaitFollowsARunThatGoesOnAgain(t *testing.T) {
	t.Parallel()
	p, l := newPlace(), begun(t)
	l.Append("", run.Data{State: run.Stopped})
	p.add(l)
	s := served(t, p, false)
	ends := make(chan waited, 1)
	go func() { ends <- answered[waited](t, s, "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 60}) }() //nolint:testifylint // the test waits for it
	l.Append("", run.Data{State: run.Running})
	hold(l, "a")
	p.add(l)
	require.Equal(t, whyDecision, (<-ends).Why)
}
