package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

func TestOutlookInWords(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Outlook{
		"so far 0 tokens and 0s": {},
		"so far 40.0k tokens and 2m05s; to go about 244k to 1.90M tokens and 3m00s to 20m00s": {
			Tokens: 40_000, Seconds: 125, TokensLeft: [2]int{244_000, 1_900_000}, SecondsLeft: [2]float64{180, 1200},
		},
		"so far 0 tokens and 9s; to go about 4s":            {Seconds: 9, SecondsLeft: [2]float64{4.2, 4.2}},
		"so far 1.2k tokens and 9s; to go about 300 tokens": {Tokens: 1200, Seconds: 9, TokensLeft: [2]int{300, 300}},
	} {
		require.Equal(t, want, o.String())
	}
}

// Half of the tasks have ended: the rest takes what they took.
func TestTheRestGoesAtThePaceOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	at(100 * ms)
	l.Plan(spec.Task{ID: "a", Role: "generator"}, spec.Task{ID: "b", Role: "generator"})
	require.Empty(t, OutlookOf(l.State, l.State.Time).Left())
	at(200 * ms)
	l.Dispatched("a", "generator", 1, "c")
	at(1300 * ms)
	l.Ended("a", 1, runtest.Patched("c", "t", "a"))
	l.Append("a", run.TaskData{State: run.TaskParked})
	s := l.State
	o := OutlookOf(s, s.Time)
	require.Equal(t, [2]float64{1.3, 1.3}, o.SecondsLeft)
	require.InDelta(t, 1.3, OutlookOf(s, s.Time.Add(time.Second)).SecondsLeft[0]-1, 1e-9)
	s.Wait.Set("approval of the plan", s.Time)
	require.Equal(t, o, OutlookOf(s, s.Time.Add(time.Hour)), "a wait for a person is no pace")
}
