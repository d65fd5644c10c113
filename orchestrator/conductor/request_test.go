package conductor

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// listening is a conductor that holds a run with the task one, and the requests that reach it.
func listening(t *testing.T) (*Conductor, chan incoming) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	c, err := New(t.Context(), Config{Run: "r1", Person: wire.Person("ada"), Bus: b, Clock: time.Now, NewID: func() string { return "e" }})
	require.NoError(t, err)
	hand := spec.Role{Name: "hand", Executor: spec.ExecutorModel}
	require.NoError(t, c.append(t.Context(), run.Append{Data: run.Data{State: run.Running, Spec: &run.Spec{
		Run: "r1", Plan: &spec.Plan{}, Roles: map[string]spec.Role{"hand": hand},
	}}}))
	require.NoError(t, c.append(t.Context(), run.Append{Data: run.PlanData{
		By: run.ByFile, Tasks: []spec.Task{{ID: "one", Role: "hand"}},
	}}))
	asks := make(chan incoming)
	stop, err := c.listen(t.Context(), asks)
	require.NoError(t, err)
	t.Cleanup(stop)
	return c, asks
}

// A person who is told that something was not done does it again: it must not happen later.
func TestAConductorLeavesUndoneWhatNobodyWaitsForAnyMore(t *testing.T) {
	t.Parallel()
	c, asks := listening(t)
	q, err := act.NewRequest(act.Send{Task: "one", Text: "Keep the old name."}, "")
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	_, err = Ask(short, c.cfg.Bus, "r1", q)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "does nothing that it had not started by now: see the report of run r1, then ask again")
	require.NoError(t, c.answer(t.Context(), chantest.Next(t, asks)))
	require.Empty(t, c.st.Messages.All)

	again := make(chan error, 1)
	go func() {
		_, err := Ask(t.Context(), c.cfg.Bus, "r1", q)
		again <- err
	}()
	require.NoError(t, c.answer(t.Context(), chantest.Next(t, asks)))
	require.NoError(t, chantest.Next(t, again))
	require.Len(t, c.st.Messages.All, 1)
}

func TestWhoGivesARequestUpIsToldThatItMayStillBeDone(t *testing.T) {
	t.Parallel()
	c, asks := listening(t)
	ctx, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	q, err := act.NewRequest(act.Send{Task: "one", Text: "Keep the old name."}, "")
	require.NoError(t, err)
	go func() {
		_, err := Ask(ctx, c.cfg.Bus, "r1", q)
		gaveUp <- err
	}()
	r := chantest.Next(t, asks)
	giveUp()
	require.ErrorContains(t, chantest.Next(t, gaveUp), "it may still be done: see the report of run r1 before you ask again")
	require.NoError(t, c.answer(t.Context(), r))
	require.Len(t, c.st.Messages.All, 1)
}

func TestARequestIsOfAPerson(t *testing.T) {
	t.Parallel()
	c, _ := listening(t)
	for _, by := range []string{"policy", "one/1", "user:", "user:a b"} {
		_, err := c.Do(t.Context(), act.Send{Task: "one", Text: "Yes."}, by)
		require.ErrorContains(t, err, "is no person", by)
	}
	require.Empty(t, c.st.Messages.All)
}

// Who finds no place asks again, and says again how long it waits: the conductor counts from when the request arrives.
func TestARequestWithoutAPlaceSaysAnewHowLongItsCallerWaits(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	var waits []time.Duration
	answer := func(_ *Conductor, _ context.Context, _ *call.In, q *act.Request) (out act.Outcome, err error) {
		if waits = append(waits, q.Waits); len(waits) < 3 {
			return out, call.AskAgain("there is no place")
		}
		return act.Outcome{Text: "done"}, nil
	}
	d := call.Answerer[*Conductor]{Table: call.TableOf(call.On(call.ConductorAct, answer)), Bus: b, Pace: &call.Pace{}}
	stop, err := d.Listen(t.Context(), bus.RequestFilter("r1"))
	require.NoError(t, err)
	q, err := act.NewRequest(act.Send{Task: "one", Text: "Keep the old name."}, "")
	require.NoError(t, err)
	out, err := Ask(t.Context(), b, "r1", q)
	stop()
	require.NoError(t, err)
	require.Equal(t, "done", out.Text)
	require.Len(t, waits, 3)
	require.Greater(t, waits[0], waits[1])
	require.Greater(t, waits[1], waits[2])
}
