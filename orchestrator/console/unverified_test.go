package console

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
)

func TestNothingOfAnUnverifiedRunIsCalledProven(t *testing.T) {
	t.Parallel()
	landed := []run.Landed{{Task: "a", Commit: "c", Unverified: "gate lint"}}
	v, said := feed.Follow(), ""
	for _, d := range []struct {
		kind contextscope.Kind
		task string
		data any
	}{
		{contextscope.KindRun, "", run.Data{
			State: run.Running, Unverified: "gate lint", Baseline: []spec.Receipt{{Gate: "lint", Verdict: spec.VerdictFail}},
		}},
		{contextscope.KindPlan, "", run.PlanData{Tasks: []spec.Task{{ID: "a"}, {ID: "b"}}}},
		{contextscope.KindTask, "a", run.TaskData{State: run.TaskAccepted}},
		{contextscope.KindTask, "b", run.TaskData{State: run.TaskAccepted}},
		{contextscope.KindLanding, "", run.LandingData{
			Batch: 1, State: run.LandingSplit, Tasks: []run.Landed{{Task: "b"}},
		}},
		{contextscope.KindLanding, "", run.LandingData{
			Batch: 2, State: run.LandingLanded, Tasks: landed, Unverified: "gate lint",
		}},
		{contextscope.KindRun, "", run.Data{
			State: run.Parked, Reason: "1 landed unverified", Ref: "refs/heads/divisi/r", Unverified: "gate lint",
		}},
	} {
		raw, err := json.Marshal(d.data)
		require.NoError(t, err)
		e := contextscope.Event{Run: "r", Kind: d.kind, Task: d.task, Data: raw}
		v.Apply(&e)
		for _, l := range told(&e, "") {
			said += l.text + "\n"
		}
	}
	tasks := view.Tasks(v.State)
	require.Equal(t, "landed unverified", tasks[0].Status())
	require.Equal(t, "accepted", tasks[1].Status(), "also after its batch was split")
	require.Equal(t, "1 accepted, 1 landed unverified", v.Tally())
	var end strings.Builder
	writeEnd(&end, v, "", 100, paint{}, time.Time{})
	require.Contains(t, end.String(), "1 accepted, 1 landed unverified")
	require.Contains(t, end.String(), "result: refs/heads/divisi/r at , unverified: gate lint")
	require.Contains(t, said, "unverified: gate lint")
	require.Contains(t, said, "batch 2 landed unverified: a")
	require.Contains(t, said, "published unverified refs/heads/divisi/r")
	live := (&live{}).lines(statusOf(v, time.Time{}, 30), 100, time.Time{})
	require.Contains(t, live[0], "parked, unverified")
	for _, text := range append(live, said, end.String()) {
		require.NotContains(t, text, "proven")
	}
}
