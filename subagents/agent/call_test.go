package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// aliases are a project's: quick stands for itself, main has a chain.
func aliases() spec.Project {
	return spec.Project{Models: map[string]spec.Model{
		"main":  {Name: "gemini-4-argon", Thinking: "HIGH", MaxOutput: 1000, Tier: "standard", Fallback: []string{"quick", "local"}},
		"quick": {Name: "gemini-3.8-flash", Thinking: "LOW", MaxOutput: 500, Tier: "priority", Window: 10_000},
		"local": {Name: "qwen", Window: 8000},
	}}
}

func TestARoleIsCalledAsItSaysElseAsItsAliasDoes(t *testing.T) {
	t.Parallel()
	quick := model.Candidate{Model: "gemini-3.8-flash", Thinking: "LOW", MaxOutput: 500, Tier: "priority", Window: 9500}
	local := model.Candidate{Model: "qwen", Window: 6000}
	change := func(c model.Candidate, f func(*model.Candidate)) model.Candidate { f(&c); return c }
	for _, c := range []struct {
		name string
		role spec.Role
		want Call
	}{
		{"the alias", spec.Role{Model: "main"}, Call{
			Model: "gemini-4-argon", Thinking: "HIGH", MaxOutput: 1000, Tier: "standard", Fallback: []model.Candidate{quick, local},
		}},
		{"the role", spec.Role{Model: "main", Thinking: "MEDIUM", Tier: "priority", Fallback: []string{"local", "gemini-3.5-flash"}}, Call{
			Model: "gemini-4-argon", Thinking: "MEDIUM", MaxOutput: 1000, Tier: "priority", Fallback: []model.Candidate{
				change(local, func(c *model.Candidate) { c.Tier = "priority" }),
				{Model: "gemini-3.5-flash", Tier: "priority", Window: 1<<20 - 1<<16},
			},
		}},
		{"the role's level for all", spec.Role{Model: "main", Thinking: "MEDIUM"}, Call{
			Model: "gemini-4-argon", Thinking: "MEDIUM", MaxOutput: 1000, Tier: "standard", Fallback: []model.Candidate{
				change(quick, func(c *model.Candidate) { c.Thinking = "" }), local,
			},
		}},
		{"a name without an alias", spec.Role{Model: "gemini-9"}, Call{Model: "gemini-9", Fallback: []model.Candidate{}}},
	} {
		p := aliases()
		got := CallOf(&wire.Assignment{Project: p, Role: c.role})
		require.Equal(t, c.want, got, c.name)
		req := got.request(contextscope.Request{}, &wire.Assignment{}, 1, false)
		require.Equal(t, c.want.Fallback, req.Fallback)
		require.Equal(t, c.want.Tier, string(req.Config.ServiceTier))
		require.Equal(t, c.want.Thinking == "", req.Config.ThinkingConfig == nil)
	}
	p := aliases()
	require.Equal(t, []model.Candidate{quick, local}, FallbackOf(&p, "gemini-4-argon"), "by its name, too")
	require.Empty(t, FallbackOf(&p, "local"))
}

func TestWhatARolesModelCannotDoIsToldEarly(t *testing.T) {
	t.Parallel()
	p := aliases()
	require.NoError(t, CheckRole(&p, &spec.Role{Name: "fine", Model: "main"}))
	require.NoError(t, CheckRole(&p, &spec.Role{Name: "fine", Model: "local", Thinking: "MINIMAL", Tier: "priority"}))
	require.ErrorContains(t, CheckRole(&p, &spec.Role{Name: "eager", Model: "quick", Thinking: "minimal"}),
		"role eager: model: invalid: config: gemini-3.8-flash knows the thinking levels LOW, MEDIUM, HIGH, not MINIMAL")
	require.ErrorContains(t, CheckRole(&p, &spec.Role{Name: "bulk", Model: "quick", Tier: "batch"}),
		"gemini-3.8-flash has the service tiers flex, priority, standard, not batch")
}
