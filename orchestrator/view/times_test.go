package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func TestTimesReportWhatTheyAddUp(t *testing.T) {
	t.Parallel()
	times := Times{
		WallSeconds: 486, Parts: []PhaseTime{{"model", 27}, {"gates", 447}, {"log", 2}, {"git", 9.04}, {"other", 1}},
		Sums: []PhaseTime{{"model", 1510}, {"gates", 900}, {"waiting", 60}},
	}
	require.Equal(t, "8m06s", times.Span())
	require.Equal(t, "model 27s, gates 7m27s, git 9.0s", times.Wall())
	require.Equal(t, "model 25m10s, gates 15m00s, waiting 1m00s", times.Sum())
}

// The report of a run that continues counts up to now, and names what runs.
func TestALiveRunIsCountedUpToNow(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles()}, run.Running)
	l.Gates(run.BaselineTask, 1, "c")
	l.Agent(run.BaselineTask, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent(run.BaselineTask, 1, contextscope.KindProgress, wire.Progress{Doing: "gate test: nothing printed for 9m30s"})
	began := l.State.Works[run.BaselineTask].Attempts[1].Began
	r := Live(l.State, time.UnixMilli(began).Add(10*time.Minute))
	require.InDelta(t, float64(began)/1000+600, r.Times.WallSeconds, 0.01)
	require.InDelta(t, 600, r.Times.Parts[partGates].Seconds, 0.01)
	require.Equal(t, []string{"--baseline/1 (10m00s) gate test: nothing printed for 9m30s"}, r.Now)
	l.Append("", run.Data{State: run.Done})
	require.Equal(t, Of(l.State), Live(l.State, time.UnixMilli(began).Add(time.Hour)))
}
