package needs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// A budget in money is refused where a program tells no price, or may call a model without one; of one that states its own cost
// the start tells that it has its own limit alone.
func TestABudgetInMoneyAndPrograms(t *testing.T) {
	t.Parallel()
	money := spec.Budget{Amount: int64(spec.Dollar), Money: true}
	for _, tt := range []struct {
		role   spec.Role
		fault  string
		notice bool
	}{
		{spec.Role{Usage: spec.AgentCodex}, "the program of role r tells no price of what it uses: give the role gateway: openai", true},
		{spec.Role{Usage: spec.AgentCodex, Gateway: spec.GatewayOpenAI}, "", false},
		{spec.Role{Usage: spec.AgentClaude}, "", true},
		{spec.Role{Gateway: spec.GatewayOpenAI, Models: []string{"gpt-5.2", "house"}}, "model house (models of role r) " + spec.NoPrice, false},
		{spec.Role{Gateway: spec.GatewayOpenAI, Models: []string{"gpt-5.2", "own"}}, "", false},
	} {
		tt.role.Name, tt.role.Executor = "r", spec.ExecutorCommand
		own := map[string]spec.Model{"own": {Name: "house-2", PriceIn: 1, PriceOut: 2}}
		s := run.Spec{Budget: money, Roles: map[string]spec.Role{"r": tt.role}, Project: spec.Project{Models: own}}
		for _, plan := range []*spec.Plan{nil, {Tasks: []spec.Task{{ID: "a", Role: "r"}}}} {
			s.Plan = plan
			err := Priced(&s, money)
			if tt.fault == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.fault)
			}
			require.NoError(t, Priced(&s, spec.Tokens(5)))
			require.Equal(t, tt.notice, len(outside(&s)) == 1)
			s.Project.BudgetDay = spec.Tokens(5)
			require.Equal(t, tt.notice, len(outside(&s)) == 2, "that of the day does not bound it either")
			s.Project.BudgetDay = spec.Budget{}
		}
		s.Plan = &spec.Plan{Tasks: []spec.Task{{ID: "a", Role: "other"}}}
		require.NoError(t, Priced(&s, money), "it is not used")
	}
}

// A budget below one call of each planned model is refused before anything begins; one that a single role can use is not.
func TestABudgetBelowOneCall(t *testing.T) {
	t.Parallel()
	own := map[string]spec.Model{"default": {Name: "house", PriceIn: 1, PriceOut: 10}}
	role := func(name string) spec.Role {
		return spec.Role{Name: name, Executor: spec.ExecutorModel, Model: "default", Instruction: "0123456789"}
	}
	s := run.Spec{
		Roles: map[string]spec.Role{"r": role("r"), "c": {Name: "c", Executor: spec.ExecutorCommand}}, Project: spec.Project{Models: own},
		Plan: &spec.Plan{Tasks: []spec.Task{{ID: "a", Role: "r"}}},
	}
	require.ErrorContains(t, Enough(&s, spec.Tokens(4105)), "the budget of 4105 tokens is less than one call needs: role r reserves at least 4106 tokens")
	require.NoError(t, Enough(&s, spec.Tokens(4106)))
	cents := func(amount int64) spec.Budget { return spec.Budget{Amount: amount, Money: true} }
	least := int64(4096*10+10*1) * 1_000_000 // pico-dollars
	require.ErrorContains(t, Enough(&s, cents(least-1)), "reserves at least $0.04")
	require.NoError(t, Enough(&s, cents(least)))
	require.NoError(t, Enough(&s, spec.Budget{}), "no limit")
	s.Plan.Tasks[0].Role = "c"
	require.NoError(t, Enough(&s, spec.Tokens(1)), "a command costs nothing")
}
