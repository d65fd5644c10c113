package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

func samplePlan(t *testing.T) run.PlanData {
	t.Helper()
	var plan run.PlanData
	events := readSample(t)
	for i := range events {
		if events[i].Kind == contextscope.KindPlan {
			require.NoError(t, json.Unmarshal(events[i].Data, &plan))
		}
	}
	require.NotEmpty(t, plan.Tasks)
	return plan
}

func TestRenderPlan(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 40} {
		var out bytes.Buffer
		require.NoError(t, RenderPlan(&out, samplePlan(t), width))
		narrow(t, out.String(), width)
		golden(t, fmt.Sprintf("testdata/plan%d.txt", width), out.Bytes())
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
	var out bytes.Buffer
	require.NoError(t, RenderPlan(&out, plan, 100))
	require.Contains(t, out.String(), "… and 1800 more tasks")
	require.Contains(t, out.String(), "… and 1980 more overlaps")
	require.Contains(t, out.String(), "and 44 more")
	require.Contains(t, out.String(), "No model takes part")
	require.Less(t, strings.Count(out.String(), "\n"), 1500)
	require.Error(t, RenderPlan(&brokenWriter{}, plan, 100))
}

func TestRenderPlanWritesATemplateOnce(t *testing.T) {
	t.Parallel()
	plan := run.PlanData{By: run.ByFile, Ceiling: 9_000_000, Likely: &run.Likely{Low: 200_000, High: 1_500_000, LowCost: spec.Dollar / 2, HighCost: 3 * spec.Dollar}}
	for i := range 5 {
		plan.Tasks = append(plan.Tasks, spec.Task{
			ID: fmt.Sprintf("t-00%d", i+1), ShardOf: "t", Role: "generator", Title: "one", Brief: "Move it.\nAll of it.",
			Constraints: []string{"Keep the API", "No new file"}, Files: []string{fmt.Sprintf("f%d.go", i)}, Unlocked: []string{fmt.Sprint("u", i)},
		})
	}
	plan.Tasks = append(plan.Tasks, spec.Task{
		ID: "last", Role: "generator", Brief: strings.Repeat("line\n", 100), Constraints: []string{"Keep the API"}, Files: []string{"z.go"},
	})
	var out bytes.Buffer
	require.NoError(t, RenderPlan(&out, plan, 120))
	before, after, found := strings.Cut(out.String(), "  last (generator)\n")
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

Likely 200k to 1.50M tokens ($0.50 to $3.00), by an estimate.
Hard limit: 9.00M tokens, all attempts counted.
`, after)
}

func TestTheTokensOfAPlan(t *testing.T) {
	t.Parallel()
	const limit = "Hard limit: 500 tokens, all attempts counted."
	for want, plan := range map[string]run.PlanData{
		"No model takes part: it costs no tokens.": {},
		limit: {Ceiling: 500},
		"Likely 10 to 20 tokens, by an estimate.\n" + limit: {Ceiling: 500, Likely: &run.Likely{Low: 10, High: 20, Unpriced: 20}},
		"Likely 10 to 20 tokens ($0.10 to $0.20 and models without a known price), by an estimate.\n" + limit: {
			Ceiling: 500, Likely: &run.Likely{Low: 10, High: 20, LowCost: spec.Dollar / 10, HighCost: spec.Dollar / 5, Unpriced: 5},
		},
	} {
		require.Equal(t, want, tokensOf(plan))
	}
}

func TestRenderTasks(t *testing.T) {
	t.Parallel()
	v := newView()
	events := readSample(t)
	for i := range events {
		v.apply(&events[i])
	}
	rows := ranked(report.Rows(v.State))
	require.Equal(t, run.TaskParked, rows[0].State, "what needs a look comes first")
	rows[1].Took = 90 * time.Second
	for _, width := range []int{10, 20, 40, 60, 80, 120, 200} {
		var out strings.Builder
		writeTasks(&out, rows, width)
		narrow(t, out.String(), max(width, 20))
		require.Contains(t, out.String(), "parked")
	}
	var out strings.Builder
	writeTasks(&out, rows, 120)
	golden(t, "testdata/tasks120.txt", []byte(out.String()))
}

func narrow(t *testing.T, text string, width int) {
	t.Helper()
	for l := range strings.Lines(text) {
		require.LessOrEqual(t, cellWidth(strings.TrimSuffix(l, "\n")), width, "%q", l)
	}
}
