package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/console/reports"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
)

func samplePlan(t *testing.T) json.RawMessage {
	t.Helper()
	var plan json.RawMessage
	events := readSample(t)
	for i := range events {
		if events[i].Kind == contextscope.KindPlan {
			plan = events[i].Data
		}
	}
	require.NotEmpty(t, plan)
	return plan
}

func shownPlan(t *testing.T, plan run.PlanData, width int) string {
	t.Helper()
	data, err := json.Marshal(plan)
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, Plan(&out, data, width))
	return out.String()
}

func TestRenderPlan(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 40} {
		var out strings.Builder
		require.NoError(t, Plan(&out, samplePlan(t), width))
		narrow(t, out.String(), width)
		golden(t, fmt.Sprintf("testdata/plan%d.txt", width), []byte(out.String()))
	}
}

func TestRenderPlanBounds(t *testing.T) {
	t.Parallel()
	plan := run.PlanData{By: run.ByFile}
	for i := range 2000 {
		plan.Tasks = append(plan.Tasks, spec.Task{
			ID: fmt.Sprintf("t%d", i), Role: "codemod", DependsOn: []string{"t0"}, Command: []string{"sed", "-i", "s/a/b/"},
			Files: strings.Fields(strings.Repeat("a/b.go ", 50)),
		})
		plan.Overlaps = append(plan.Overlaps, run.Overlap{A: "t0", B: "t1", Path: "a/b.go"})
	}
	out := shownPlan(t, plan, 100)
	require.Contains(t, out, "… and 1800 more tasks")
	require.Contains(t, out, "… and 1980 more overlaps")
	require.Contains(t, out, "and 44 more")
	require.Contains(t, out, "No model takes part")
	require.Less(t, strings.Count(out, "\n"), 1500)
	require.Error(t, Plan(&strings.Builder{}, json.RawMessage("{"), 100))
}

func TestRenderPlanWritesATemplateOnce(t *testing.T) {
	t.Parallel()
	plan := run.PlanData{By: run.ByFile, Ceiling: 9_000_000, Likely: &forecast.Estimate{Past: 12, Low: 200_000, High: 1_500_000, LowCost: spec.Dollar / 2, HighCost: 3 * spec.Dollar}}
	for i := range 5 {
		plan.Tasks = append(plan.Tasks, spec.Task{
			ID: fmt.Sprintf("t-00%d", i+1), ShardOf: "t", Role: "generator", Title: "one", Brief: "Move it.\nAll of it.",
			Constraints: []string{"Keep the API", "No new file"}, Files: []string{fmt.Sprintf("f%d.go", i)}, Unlocked: []string{fmt.Sprint("u", i)},
		})
	}
	plan.Tasks = append(plan.Tasks, spec.Task{
		ID: "last", Role: "generator", Brief: strings.Repeat("line\n", 100), Constraints: []string{"Keep the API"}, Files: []string{"z.go"},
	})
	before, after, found := strings.Cut(shownPlan(t, plan, 120), "  last (generator)\n")
	require.True(t, found)
	require.Equal(t, `Plan by file: 6 tasks

Constraints of every task:
  - Keep the API

  t (generator): a template for 5 tasks
      Move it.
      All of it.
      - No new file
      t-001: one
        writes f0.go
      t-002: one
        writes f1.go
      t-003: one
        writes f2.go
      … and 2 more tasks
      may change the protected u0, u1, u2, u3, u4
`, before)
	require.Equal(t, strings.Repeat("      line\n", 40)+`      … and 60 more lines
      writes z.go

Estimate: 200k to 1.50M tokens, $0.50 to $3.00 (by 12 earlier tasks).
Hard limit: 9.00M tokens, all attempts counted.
`, after)
}

func TestTheTokensOfAPlan(t *testing.T) {
	t.Parallel()
	const limit = "Hard limit: 500 tokens, all attempts counted."
	for want, plan := range map[string]run.PlanData{
		"No model takes part: it costs no tokens.": {},
		limit: {Ceiling: 500},
		"1 task runs codex: its cost is not estimated.\n8 tasks run gemini: its cost is not estimated.": {
			Agents: map[string]int{"gemini": 8, "codex": 1},
		},
		"1 task runs codex: its cost is not estimated.\n" + limit: {Agents: map[string]int{"codex": 1}, Ceiling: 500},
		"Estimate: 10 to 20 tokens, unpriced (no history: by the sizes of the files).\n" + limit: {
			Ceiling: 500, Likely: &forecast.Estimate{Low: 10, High: 20, Unpriced: 20, Blind: 1},
		},
		"Estimate: 1m00s to 2m00s (by 3 earlier tasks).": {Likely: &forecast.Estimate{LowSeconds: 60, HighSeconds: 120, Past: 3}},
	} {
		require.Equal(t, want, tokensOf(&plan))
	}
}

func TestRenderTasks(t *testing.T) {
	t.Parallel()
	v := feed.Follow()
	events := readSample(t)
	for i := range events {
		v.Apply(&events[i])
	}
	rows := view.Ranked(view.Tasks(v.State))
	require.Equal(t, run.TaskParked, rows[0].State, "what needs a look comes first")
	for _, width := range []int{10, 20, 40, 60, 80, 120, 200} {
		var out strings.Builder
		reports.Tasks(&out, rows, width)
		narrow(t, out.String(), max(width, 20))
		require.Contains(t, out.String(), "parked")
	}
	var out strings.Builder
	reports.Tasks(&out, rows, 120)
	golden(t, "testdata/tasks120.txt", []byte(out.String()))
}

func narrow(t *testing.T, text string, width int) {
	t.Helper()
	for l := range strings.Lines(text) {
		require.LessOrEqual(t, lipgloss.Width(strings.TrimSuffix(l, "\n")), width, "%q", l)
	}
}

// The time in which no process held a run is not the run's, at its end as in its report.
func TestTheTimeOfARunThatWasResumed(t *testing.T) {
	t.Parallel()
	v := feed.Follow()
	created := time.Unix(1000, 0)
	for after, d := range []run.Data{
		{Spec: &run.Spec{Created: created}, State: run.Running, Epoch: 1}, {State: run.Stopped}, {State: run.Running, Epoch: 2}, {State: run.Done},
	} {
		raw, err := json.Marshal(d)
		require.NoError(t, err)
		v.Apply(&contextscope.Event{Run: "r", Kind: contextscope.KindRun, Data: raw, Time: created.Add(time.Duration(after) * 10 * time.Second)})
	}
	require.Equal(t, "20s · 0 tokens", v.Spent(time.Time{}))
}
