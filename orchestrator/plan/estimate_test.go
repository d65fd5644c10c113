package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestEstimate(t *testing.T) {
	t.Parallel()
	roles := map[string]spec.Role{
		"gen":   {Executor: spec.ExecutorModel, Limits: spec.Limits{Turns: 60}},
		"brief": {Executor: spec.ExecutorModel, Limits: spec.Limits{Turns: 4}},
		"small": {Executor: spec.ExecutorModel, Limits: spec.Limits{Turns: 60, Tokens: 20_000}},
		"mod":   {Executor: spec.ExecutorCommand},
		"chain": {Executor: spec.ExecutorCommand, Chain: []string{spec.ExecutorModel}, Limits: spec.Limits{Turns: 60}},
		"judge": {Executor: spec.ExecutorModel, Limits: spec.Limits{Turns: 60}},
		"other": {Executor: spec.ExecutorModel, Model: "unknown", Limits: spec.Limits{Turns: 4}},
	}
	sizes := map[string]int64{"a.go": 4000}
	const low, high = 4*3000 + 800*6 + 1600, 16*3000 + 800*120 + 6400
	measured := map[string]spec.Usage{"gen": {Calls: 5, Prompt: 9000, Cached: 4000, Output: 1000}}
	for name, c := range map[string]struct {
		record string
		tasks  []spec.Task
		usual  map[string]spec.Usage
		want   *run.Estimate
	}{
		"commands":                          {"", []spec.Task{{Role: "mod"}}, nil, nil},
		"a role that was never measured":    {"", []spec.Task{{Role: "gen"}}, nil, &run.Estimate{Low: low, High: high}},
		"few turns allowed":                 {"", []spec.Task{{Role: "brief"}}, nil, &run.Estimate{Low: low, High: low}},
		"a limit in tokens":                 {"", []spec.Task{{Role: "small"}}, nil, &run.Estimate{Low: low, High: 20_000}},
		"a limit of the task":               {"", []spec.Task{{Role: "gen", Limits: spec.Limits{Tokens: 100}}}, nil, &run.Estimate{Low: 100, High: 100}},
		"its files, and the same as output": {"", []spec.Task{{Role: "brief", Files: []string{"a.go", "b/**"}}}, nil, &run.Estimate{Low: low + 4000, High: low + 4000}},
		"record, brief and constraints": {
			"1234", []spec.Task{{Role: "brief", Brief: "1234", Constraints: []string{"12", "34"}}}, nil, &run.Estimate{Low: low + 12, High: low + 12},
		},
		"a chain may need no model": {"", []spec.Task{{Role: "chain"}}, nil, &run.Estimate{High: high}},
		"a tester with a model":     {"", []spec.Task{{Role: "mod", Verify: "judge"}}, nil, &run.Estimate{Low: low, High: high}},
		"measured":                  {"", []spec.Task{{Role: "gen"}, {Role: "gen"}}, measured, &run.Estimate{Low: 20_000, High: 40_000}},
		"an unknown price":          {"", []spec.Task{{Role: "other"}}, nil, &run.Estimate{Low: low, High: low, Unpriced: low}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := run.NewState()
			st.Spec = run.Spec{Roles: roles, Usual: c.usual, Created: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Project: spec.Project{
				Models: map[string]spec.Model{"default": {Name: "own", PriceIn: 2, PriceOut: 10}},
			}}
			got := Estimate(c.record, c.tasks, sizes, &st.Spec, st.Works)
			if got != nil && got.Unpriced == 0 {
				require.Positive(t, got.HighCost)
				got.LowCost, got.HighCost = 0, 0
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestThePriceOfAnEstimate(t *testing.T) {
	t.Parallel()
	st := run.NewState()
	st.Spec = run.Spec{
		Roles:   map[string]spec.Role{"gen": {Executor: spec.ExecutorModel}},
		Usual:   map[string]spec.Usage{"gen": {Calls: 1, Prompt: 1_000_000, Output: 100_000}},
		Project: spec.Project{Models: map[string]spec.Model{"default": {Name: "own", PriceIn: 2, PriceOut: 10}}},
	}
	got := Estimate("", []spec.Task{{Role: "gen"}}, nil, &st.Spec, st.Works)
	require.Equal(t, 3*spec.Dollar, got.LowCost)
	require.Equal(t, 6*spec.Dollar, got.HighCost)
}

func TestTheCeilingCountsJudges(t *testing.T) {
	t.Parallel()
	roles := map[string]spec.Role{
		"gen": {Executor: spec.ExecutorModel, Writes: true, Limits: spec.Limits{Tokens: 1000}}, "mod": {Executor: spec.ExecutorCommand},
		"tester": {}, "reviewer": {Executor: spec.ExecutorModel, Limits: spec.Limits{Tokens: 10}}, "own": {Executor: spec.ExecutorModel},
	}
	project := spec.Project{Limits: spec.Limits{Tokens: 7}}
	for name, c := range map[string]struct {
		task spec.Task
		want int
	}{
		"none":            {spec.Task{Role: "gen", Attempts: 3}, 3000},
		"of constraints":  {spec.Task{Role: "gen", Attempts: 3, Constraints: []string{"keep"}}, 3030},
		"of a command":    {spec.Task{Role: "mod", Attempts: 2, Verify: "own"}, 14},
		"the gates alone": {spec.Task{Role: "gen", Attempts: 1, Constraints: []string{"keep"}, Verify: "tester"}, 1000},
	} {
		require.Equal(t, c.want, Ceiling([]spec.Task{c.task}, roles, project), name)
	}
	st := run.NewState()
	st.Spec = run.Spec{Roles: roles, Usual: map[string]spec.Usage{"gen": {Prompt: 100}, "reviewer": {Prompt: 4}}}
	require.Equal(t, 104, Estimate("", []spec.Task{{Role: "gen", Constraints: []string{"keep"}}}, nil, &st.Spec, st.Works).Low)
}
