package needs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
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
	far := filepath.Join(t.TempDir(), "far")
	require.NoError(t, os.WriteFile(far, []byte("#!/bin/sh\n"), 0o755))
	unseen := ""
	if sandbox.Probe().Confined() {
		unseen = "the program " + far + " of role mod is on this machine, and commands do not see it: commit the program to the " +
			"repository, or put it into a directory of PATH, and start again"
	}
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
		"a place that is absent":     {role: command("/no/" + absent), want: "the program /no/" + absent + " of role mod is no executable file of this machine"},
		"a place out of sight":       {role: command(far), want: unseen},
		"no setup shows it":          {role: command(far), setup: []string{"make"}, want: unseen},
		"a place of the system":      {role: command("/bin/sh")},
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
		return Gates(&run.Spec{Project: spec.Project{
			Setup: spec.Setup{Command: setup}, Gates: []spec.Gate{{Name: "ok", Command: []string{"true"}}, {Name: "t", Command: command}},
		}})
	}
	require.ErrorContains(t, of(nil, "no-such-gate", "x"), "gate t: no-such-gate is not on PATH")
	require.NoError(t, of(nil, "tools/no-such-gate"), "it may be in the repository")
	require.NoError(t, of([]string{"make"}, "no-such-gate"), "setup may bring it")
	require.NoError(t, of(nil, "sh", "-c", "no-such-gate"))
	require.ErrorContains(t, of(nil, "/no/such-gate"), "gate t: /no/such-gate is no executable file of this machine")
	require.NoError(t, of(nil, "/bin/sh"))
	far := filepath.Join(t.TempDir(), "far")
	require.NoError(t, os.WriteFile(far, []byte("#!/bin/sh\n"), 0o755))
	if sandbox.Probe().Confined() {
		require.ErrorContains(t, of(nil, far), "gate t: commands do not see its program "+far)
	}
}
