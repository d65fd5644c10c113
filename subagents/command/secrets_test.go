package command

import (
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/limit"

	"github.com/stretchr/testify/require"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	role := spec.Role{Name: "mod", Secrets: []string{"A_KEY", "B_KEY", "SHORT", "EMPTY"}}
	s := SecretsOf(&role, []string{"A_KEY=old-value", "OTHER=x", "A_KEY=secret-value", "SHORT=ab", "EMPTY="})
	require.Equal(t, Secrets{"A_KEY=secret-value", "SHORT=ab"}, s, "the last value counts, as for a program")
	require.Equal(t, "role mod needs B_KEY, EMPTY, which is not set where Divisi runs: set it there, and try again", s.missing(&role))
	require.Empty(t, s.missing(&spec.Role{}))
	r := spec.Result{
		Handoff: spec.Handoff{Summary: "about secret-value"},
		Error:   &spec.Fault{Message: "cab secret-value", Detail: "secret-valuesecret-value"},
	}
	s.hideIn(&r)
	require.Equal(t, "about [A_KEY]", r.Handoff.Summary)
	require.Equal(t, spec.Fault{Message: "cab [A_KEY]", Detail: "[A_KEY][A_KEY]"}, *r.Error)
	require.Equal(t, "[B]", Secrets{"A=secret", "B=secret-value"}.hide("secret-value"))
}

// A role's command sees its secrets, and nothing that it reports has their values; the commands of other roles do not.
func TestSecretsOfACommand(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/usr/bin:/bin", "A_KEY=secret-value"}
	run := func(name string, role spec.Role) spec.Result {
		a := testAssignment()
		a.Task.ID, a.Role, a.Task.Files = name, role, []string{"a.txt"}
		dir := t.TempDir()
		c := &Executor{
			Assignment: a, Dir: dir, Env: environ[:1], Secrets: SecretsOf(&a.Role, environ),
			Bounds: limit.Bounds{Time: time.Minute}, Place: sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}, Doing: func(said string) { require.NotContains(t, said, "secret-value") },
		}
		r, err := c.Run(t.Context())
		require.NoError(t, err)
		return r
	}
	command := []string{"sh", "-c", `echo "key: $A_KEY"; test -z "$A_KEY"`}
	r := run("with", spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: command, Secrets: []string{"A_KEY"}})
	require.Equal(t, spec.StatusFailed, r.Status, "it sees the value")
	require.Equal(t, "key: [A_KEY]", r.Error.Detail[:12])
	require.NotContains(t, r.Error.Message, "secret-value")
	r = run("without", spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: command})
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	r = run("unset", spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: command, Secrets: []string{"B_KEY"}})
	require.Contains(t, r.Error.Message, "role mod needs B_KEY")
}
