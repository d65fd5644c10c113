package needs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestAProgramThatIsMissingIsFoundBeforeTheRun(t *testing.T) {
	t.Parallel()
	const absent = "no-such-program-of-divisi"
	command := func(args ...string) spec.Role {
		return spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: args}
	}
	chain := command(absent)
	chain.Chain = []string{spec.ExecutorModel}
	agent := command("/no/bin/claude")
	agent.Usage = spec.AgentClaude
	wrapped := command("sh", "-c", `exec "$@"`, "sh", spec.AgentOpencode, "run")
	wrapped.Usage = spec.AgentOpencode
	for name, c := range map[string]struct {
		role  spec.Role
		task  []string
		setup []string
		want  string
	}{
		"there":                      {role: command("sh", "-c", "true")},
		"absent":                     {role: command(absent), want: "the program " + absent + " of role mod is not on PATH, and no setup installs it: install it, and start again"},
		"the task's":                 {role: command("sh"), task: []string{absent}, want: absent},
		"behind env":                 {role: command("env", "A=b", "C_D=", absent, "E=f"), want: absent},
		"env alone":                  {role: command("env", "A=b")},
		"options of env":             {role: command("env", "-u", absent)},
		"a place that is absent":     {role: command("/no/" + absent), want: absent},
		"of the repository":          {role: command("tools/" + absent)},
		"setup may bring it":         {role: command(absent), setup: []string{"make", "tools"}},
		"a model goes on without it": {role: chain},
		"a coding agent in a shell":  {role: wrapped, want: "the program opencode of role mod is not on PATH"},
		"a coding agent":             {role: agent, want: "install it, for example with npm install -g @anthropic-ai/claude-code, and start again"},
	} {
		s := &run.Spec{
			Plan:    &spec.Plan{Tasks: []spec.Task{{ID: "a", Role: "mod", Command: c.task}, {ID: "b", Role: "mod", Command: c.task}}},
			Project: spec.Project{Setup: spec.Setup{Command: c.setup}}, Roles: map[string]spec.Role{"mod": c.role},
		}
		if err := programsThere(s); c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
			require.Len(t, Notices(s), 1, name)
		}
	}
}

func TestAProgramOfAGateThatIsMissingIsFoundBeforeTheRun(t *testing.T) {
	t.Parallel()
	of := func(setup []string, command ...string) error {
		return gatesThere(&run.Spec{Project: spec.Project{
			Setup: spec.Setup{Command: setup}, Gates: []spec.Gate{{Name: "ok", Command: []string{"true"}}, {Name: "t", Command: command}},
		}})
	}
	require.ErrorContains(t, of(nil, "no-such-gate", "x"), "gate t: no-such-gate is not on PATH")
	require.NoError(t, of(nil, "tools/no-such-gate"), "it may be in the repository")
	require.NoError(t, of([]string{"make"}, "no-such-gate"), "setup may bring it")
	require.NoError(t, of(nil, "sh", "-c", "no-such-gate"))
}
