package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func TestTimesReportWhatTheyAddUp(t *testing.T) {
	t.Parallel()
	times := Times{WallSeconds: 486, Phases: []PhaseTime{{"model", 27, 1510}, {"gates", 447, 900}, {"waiting", 12, 60}}}
	require.Equal(t, "8m06s", times.Span())
	require.Equal(t, "model 27s, gates 7m27s; waiting 12s", times.Wall())
	require.Equal(t, "model 25m10s, gates 15m00s, waiting 1m00s", times.Sum())
}

// Waiting is the wall clock in which nothing ran, without the time in which no process held the run.
func TestWaitingIsTheRestOfTheWallClock(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles()}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	l.Dispatched("a", "generator", 1, "c")
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1}) // 4 s after the creation
	l.Agent("a", 1, contextscope.KindTurn, wire.Turn{})
	l.Agent("a", 1, contextscope.KindUsage, wire.Spent{Took: 500 * time.Millisecond})
	l.Append("", run.Data{State: run.Stopped})
	l.Append("", run.Data{Epoch: 2, State: run.Running})
	l.Append("", run.Data{State: run.Done})
	require.Equal(t, Times{8, []PhaseTime{
		{"model", 0.5, 0.5}, {"slots", 0, 0}, {"tools", 0, 0}, {"gates", 0, 0}, {"waiting", 7.5, 0},
	}}, TimesOf(l.State))
}

// The report of a run that goes on counts up to now, and names what runs.
func TestALiveRunIsCountedUpToNow(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles()}, run.Running)
	l.Gates(run.BaselineTask, 1, "c")
	l.Agent(run.BaselineTask, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent(run.BaselineTask, 1, contextscope.KindProgress, wire.Progress{Doing: "gate test: nothing printed for 9m30s"})
	began := l.State.Works[run.BaselineTask].Attempts[1].Began
	r := Live(l.State, time.UnixMilli(began).Add(10*time.Minute))
	require.InDelta(t, float64(began)/1000+600, r.Times.WallSeconds, 0.01)
	require.Equal(t, PhaseTime{"gates", 600, 600}, r.Times.Phases[3])
	require.Equal(t, []string{"--baseline/1 (10m00s) gate test: nothing printed for 9m30s"}, r.Now)
	require.Zero(t, l.Times.Wall(run.Gates), "the state is as it was")
	l.Append("", run.Data{State: run.Done})
	require.Equal(t, Of(l.State), Live(l.State, time.UnixMilli(began).Add(time.Hour)))
}
