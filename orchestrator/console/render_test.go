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
	require.Contains(t, out.String(), "… and 1980 more")
	require.Contains(t, out.String(), "and 44 more")
	require.Contains(t, out.String(), "No model takes part")
	require.Less(t, strings.Count(out.String(), "\n"), 1500)
	require.Error(t, RenderPlan(&brokenWriter{}, plan, 100))
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
		var out bytes.Buffer
		require.NoError(t, RenderTasks(&out, rows, width))
		narrow(t, out.String(), max(width, 20))
		require.Contains(t, out.String(), "parked")
	}
	var out bytes.Buffer
	require.NoError(t, RenderTasks(&out, rows, 120))
	golden(t, "testdata/tasks120.txt", out.Bytes())
	require.Error(t, RenderTasks(&brokenWriter{}, rows, 80))
}

func narrow(t *testing.T, text string, width int) {
	t.Helper()
	for l := range strings.Lines(text) {
		require.LessOrEqual(t, cellWidth(strings.TrimSuffix(l, "\n")), width, "%q", l)
	}
}
