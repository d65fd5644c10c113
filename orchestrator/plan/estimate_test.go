package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
)

func TestEstimate(t *testing.T) {
	t.Parallel()
	roles := map[string]spec.Role{
		"gen":   {Executor: spec.ExecutorModel},
		"mod":   {Executor: spec.ExecutorCommand},
		"chain": {Executor: spec.ExecutorCommand, Chain: []string{spec.ExecutorModel}},
		"agent": {Executor: spec.ExecutorCommand, Usage: spec.AgentClaude},
		"judge": {Executor: spec.ExecutorModel},
		"other": {Executor: spec.ExecutorModel, Model: "unknown"},
	}
	sizes := map[string]int64{"a.go": 4000}
	const base = 8*3000 + 800*28 + 3200
	habits := forecast.Learn([]forecast.Past{{Run: "1", Role: "agent", Base: base, Usage: spec.Usage{Prompt: base}, Seconds: 60}})
	for name, c := range map[string]struct {
		record        string
		tasks         []spec.Task
		habits        []forecast.Habit
		bases         []int
		priced, known bool
	}{
		"commands":                          {"", []spec.Task{{Role: "mod"}}, nil, nil, false, false},
		"a role that was never measured":    {"", []spec.Task{{Role: "gen"}}, nil, []int{base}, true, true},
		"its files, and the same as output": {"", []spec.Task{{Role: "gen", Files: []string{"a.go", "b/**"}}}, nil, []int{base + 8000}, true, true},
		"record, brief and constraints": {
			"1234", []spec.Task{{Role: "gen", Brief: "1234", Constraints: []string{"12", "34"}}}, nil, []int{base + 24}, true, true,
		},
		"a chain may need no model":   {"", []spec.Task{{Role: "chain"}}, nil, []int{base}, true, true},
		"a tester with a model":       {"", []spec.Task{{Role: "mod", Verify: "judge"}}, nil, []int{base}, true, true},
		"an unknown price":            {"", []spec.Task{{Role: "other"}}, nil, []int{base}, false, true},
		"an agent that never ran":     {"", []spec.Task{{Role: "agent"}}, nil, []int{base}, false, false},
		"an agent that ran, unpriced": {"", []spec.Task{{Role: "agent"}}, habits, []int{base}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := run.NewState()
			st.Spec = run.Spec{Roles: roles, Habits: c.habits, Created: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Project: spec.Project{
				Models: map[string]spec.Model{"default": {Name: "own", PriceIn: 2, PriceOut: 10}},
			}}
			got := Estimate(c.record, c.tasks, sizes, &st.Agenda, st.Works)
			if c.bases == nil {
				require.Nil(t, got)
				return
			}
			require.Equal(t, c.bases, got.Bases)
			require.Equal(t, c.known, got.High > 0)
			require.Equal(t, c.priced, got.HighCost > 0)
			require.Equal(t, c.known && !c.priced, got.Unpriced > 0)
			require.Equal(t, len(c.habits), got.Past)
		})
	}
	s := run.Spec{Roles: roles}
	require.Equal(t, map[string]int{spec.AgentClaude: 1}, agents([]spec.Task{{Role: "agent"}, {Role: "gen"}}, &s))
	s.Habits = habits
	require.Empty(t, agents([]spec.Task{{Role: "agent"}}, &s), "its use is estimated")
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
}
