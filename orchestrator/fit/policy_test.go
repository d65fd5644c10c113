package fit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

func TestDenied(t *testing.T) {
	t.Parallel()
	writer := spec.Role{Name: "writer", Executor: spec.ExecutorModel}
	online := spec.Role{Name: "online", Executor: spec.ExecutorCommand, Network: true}
	tester := spec.Role{Name: spec.RoleTester}
	for name, c := range map[string]struct {
		policy  spec.Policy
		project spec.Project
		role    spec.Role
		want    []string
	}{
		"what asks for nothing": {role: writer},
		"the network": {
			role: online, want: []string{"its owner's permission for the network (network in worker.yaml)"},
		},
		"the network is permitted": {policy: spec.Policy{Network: []string{"*"}}, role: online},
		"this machine": {
			policy: spec.Policy{Network: []string{"*"}}, role: spec.Role{Name: "l", Network: true, Loopback: true},
			want: []string{"its owner's permission for the addresses of this machine (network in worker.yaml)"},
		},
		"a setup": {
			project: spec.Project{Setup: spec.Setup{Command: []string{"npm", "ci"}}}, role: tester,
			want: []string{"its owner's permission for a setup, which has the network (network in worker.yaml)"},
		},
		"variables and secrets": {
			project: spec.Project{Env: []string{"LANG"}}, role: spec.Role{Name: "r", Secrets: []string{"TOKEN"}},
			want: []string{
				"its owner's permission for the variable LANG (variables in worker.yaml)",
				"its owner's permission for the secret TOKEN (secrets in worker.yaml)",
			},
		},
		"they are permitted": {
			policy:  spec.Policy{Secrets: []string{"TOKEN"}, Variables: []string{"LANG"}},
			project: spec.Project{Env: []string{"LANG"}}, role: spec.Role{Name: "r", Secrets: []string{"TOKEN"}},
		},
		"a model that takes a key elsewhere": {
			project: spec.Project{Models: map[string]spec.Model{"default": {BaseURL: "https://evil.example/v1", KeyEnv: "AWS_SECRET_ACCESS_KEY"}}},
			role:    writer,
			want: []string{
				"its owner's permission for the model default at https://evil.example/v1 (network in worker.yaml)",
				"its owner's permission for the secret AWS_SECRET_ACCESS_KEY (secrets in worker.yaml)",
			},
		},
		"a model of this machine's own service": {
			policy:  spec.Policy{Network: []string{"localhost"}},
			project: spec.Project{Models: map[string]spec.Model{"default": {BaseURL: "http://127.0.0.1:11434/v1"}}}, role: writer,
		},
		"models are no matter of a command": {
			project: spec.Project{Models: map[string]spec.Model{"m": {BaseURL: "https://evil.example/v1"}}}, role: tester,
		},
		"a tool server": {
			role: spec.Role{Name: "r", MCPServers: map[string]spec.MCPServer{
				"s": {URL: "https://evil.example", Headers: map[string]string{"Authorization": "TOKEN"}}, "p": {Command: []string{"p"}, Env: []string{"X"}},
			}},
			want: []string{
				"its owner's permission for the tool server s at https://evil.example (network in worker.yaml)",
				"its owner's permission for the variable X (variables in worker.yaml)",
				"its owner's permission for the secret TOKEN (secrets in worker.yaml)",
			},
		},
		"a secret is no variable for all commands": {
			policy: spec.Policy{Secrets: []string{"DATABASE_URL"}}, project: spec.Project{Env: []string{"DATABASE_URL"}}, role: writer,
			want: []string{"its owner's permission for the variable DATABASE_URL (variables in worker.yaml)"},
		},
		"a model that the role does not call": {
			project: spec.Project{Models: map[string]spec.Model{"other": {BaseURL: "https://evil.example/v1"}}}, role: writer,
		},
		"one that takes over": {
			project: spec.Project{Models: map[string]spec.Model{"default": {Stronger: "m"}, "m": {KeyEnv: "K"}}}, role: writer,
			want: []string{"its owner's permission for the secret K (secrets in worker.yaml)"},
		},
		"another repository": {
			policy: spec.Policy{Repositories: []string{"service-*"}}, role: writer,
			want: []string{`its owner's permission for the repository "app" (repositories in worker.yaml)`},
		},
		"another role": {
			policy: spec.Policy{Roles: []string{"fixer"}}, role: writer,
			want: []string{"its owner's permission for the role writer (roles in worker.yaml)"},
		},
		"gates only": {
			policy: spec.Policy{Only: spec.OnlyGates}, role: writer,
			want: []string{"its owner's permission for the tasks of role writer (only in worker.yaml)"},
		},
		"gates only, gates": {policy: spec.Policy{Only: spec.OnlyGates}, role: tester},
		"generators only, gates": {
			policy: spec.Policy{Only: spec.OnlyGenerators}, role: tester,
			want: []string{"its owner's permission for the tasks of role tester (only in worker.yaml)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ElementsMatch(t, c.want, Denied(&c.policy, "app", &c.project, &c.role))
		})
	}
	require.Empty(t, Denied(nil, "app", &spec.Project{}, &online), "the worker inside a run has no policy")
}

// A conductor that was taken over can write any assignment: it gets nothing that the run was not begun with.
func TestBeyond(t *testing.T) {
	t.Parallel()
	online := spec.Role{Name: "online", Executor: spec.ExecutorCommand, Command: []string{"fetch"}, Network: true}
	s := &wire.Setup{
		Project: spec.Project{Setup: spec.Setup{Command: []string{"make", "deps"}}, Env: []string{"LANG"}},
		Roles: map[string]spec.Role{
			"online": online, "mod": {Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sed"}},
			"publish": {Name: "publish", Executor: spec.ExecutorCommand, Command: []string{"sign"}, Secrets: []string{"KEY"}},
		},
		Commands: [][]string{{"fetch", "more"}},
	}
	own := func() *wire.Assignment { return &wire.Assignment{Project: s.Project, Role: s.Roles["mod"]} }
	for name, c := range map[string]struct {
		change func(a *wire.Assignment)
		want   []string
	}{
		"its own":       {func(*wire.Assignment) {}, nil},
		"another model": {func(a *wire.Assignment) { a.Role.UseModel("strong") }, nil},
		"other gates":   {func(a *wire.Assignment) { a.Project.Gates = []spec.Gate{{Name: "x", Command: []string{"x"}}} }, nil},
		"its setup":     {func(a *wire.Assignment) { a.Setup = []string{"make", "deps"} }, nil},
		"another setup": {func(a *wire.Assignment) { a.Setup = []string{"make", "evil"} }, []string{"setup, with the network: make evil"}},
		"the network": {
			func(a *wire.Assignment) { a.Role.Network = true },
			[]string{"role mod, with the network: sed", "role mod: its commands, tool servers and gates have the network"},
		},
		"the command of a role with the network": {
			func(a *wire.Assignment) { a.Role = online; a.Role.Command = []string{"evil"} },
			[]string{`role online, with what its commands are given, runs ["evil"]`, "role online, with the network: evil"},
		},
		"the command of a task of a role with the network": {
			func(a *wire.Assignment) { a.Role, a.Task.Command = online, []string{"evil"} },
			[]string{`role online, with what its commands are given, runs ["evil"]`},
		},
		"a command of a task that is signed": {
			func(a *wire.Assignment) { a.Role, a.Task.Command = online, []string{"fetch", "more"} }, nil,
		},
		"another command of a role with a secret": {
			func(a *wire.Assignment) { a.Role = s.Roles["publish"]; a.Role.Command = []string{"leak"} },
			[]string{`role publish, with what its commands are given, runs ["leak"]`},
		},
		"gates of a role with the network": {
			func(a *wire.Assignment) {
				a.Role, a.Project.Gates = online, []spec.Gate{{Name: "x", Command: []string{"x"}}}
			},
			[]string{`gate x, with the network, runs ["x"]`},
		},
		"a secret":   {func(a *wire.Assignment) { a.Role.Secrets = []string{"TOKEN"} }, []string{"role mod has the secret TOKEN"}},
		"a variable": {func(a *wire.Assignment) { a.Project.Env = []string{"LANG", "PGHOST"} }, []string{"env: every command sees your variable PGHOST"}},
		"a model": {
			func(a *wire.Assignment) {
				a.Project.Models = map[string]spec.Model{"m": {BaseURL: "https://evil.example"}}
			},
			[]string{"model m: prompts with the repository's content go to https://evil.example, without a key"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := own()
			c.change(a)
			require.Equal(t, c.want, Beyond(s, a))
		})
	}
}
