package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func TestOutlookInWords(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Outlook{
		"so far 0 tokens and 0s": {},
		"so far 40.0k tokens, $0.05 and 2m05s; to go about 244k to 1.90M tokens, 3m00s to 20m00s (by 4 earlier tasks)": {
			Tokens: 40_000, Seconds: 125, Cost: spec.Dollar / 20,
			Left: forecast.Estimate{Low: 244_000, High: 1_900_000, LowSeconds: 180, HighSeconds: 1200, Past: 4},
		},
		"so far 1.2k tokens, unpriced and 9s": {Tokens: 1200, Unpriced: 1200, Seconds: 9},
	} {
		require.Equal(t, want, o.String())
	}
}

// Some of the tasks have ended: the others take what they took.
func TestTheRestIsLikeWhatHasEnded(t *testing.T) {
	t.Parallel()
	l, at := runtest.Timed(t)
	at(100 * ms)
	tasks := []spec.Task{{ID: "a", Role: "generator"}, {ID: "b", Role: "generator"}, {ID: "c", Role: "generator"}, {ID: "d", Role: "generator"}}
	l.Append("", run.PlanData{Tasks: tasks, Likely: &forecast.Estimate{Low: 1, High: 2, HighSeconds: 3, Blind: 4, Bases: []int{1000, 1000, 1000, 1000}}})
	require.Zero(t, OutlookOf(l.State, l.State.Time).Left.HighSeconds)
	for i, id := range []string{"a", "b", "c"} {
		at(time.Duration(200+2000*i) * ms)
		l.Dispatched(id, "generator", 1, "c")
		l.Agent(id, 1, "usage", wire.Spent{Usage: spec.Usage{Calls: 1, Prompt: 5000}, Price: "gemini-3.8-flash@2026-09-02"})
		at(time.Duration(1200+2000*i) * ms)
		l.Ended(id, 1, runtest.Patched("c", "t", "a"))
		l.Append(id, run.TaskData{State: run.TaskParked})
	}
	s := l.State
	past := PastOf(&s.Agenda, s.Works)
	require.Len(t, past, 3)
	require.Equal(t, []any{1000, 5000, 5000 * spec.Money(750_000)}, []any{past[0].Base, past[0].Usage.Total(), past[0].Cost})
	o := OutlookOf(s, s.Time)
	require.Equal(t, 3, o.Left.Past)
	require.Equal(t, 15_000*spec.Money(750_000), o.Cost)
	require.Less(t, o.Left.Low, 5000)
	require.Greater(t, o.Left.High, 5000)
	require.Less(t, o.Left.High, 30_000)
	require.Equal(t, forecast.Estimate{Low: 1, High: 2, HighSeconds: 3, Blind: 4, Bases: []int{1000, 1000, 1000, 1000}}, Before(s))
	waiting := &run.PlanData{Tasks: []spec.Task{{ID: "e", Role: "generator"}}, Likely: &forecast.Estimate{Bases: []int{1000}}}
	require.Greater(t, OutlookWith(s, s.Time, waiting).Left.Low, o.Left.Low, "a plan that is not yet in the state")
	s.Wait.Set("approval of the plan", s.Time)
	require.Equal(t, o, OutlookOf(s, s.Time.Add(time.Hour)), "a wait for a person is no pace")
	l.Append("", run.Data{State: run.Done})
	require.Zero(t, OutlookOf(s, s.Time).Left, "nothing is left")
}
