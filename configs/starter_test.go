package configs

import (
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestStarter(t *testing.T) {
	t.Parallel()
	text, err := Starter("docwriter")
	require.NoError(t, err)
	role, err := ParseRole("x.md", text)
	require.NoError(t, err)
	require.Equal(t, "docwriter", role.Name)
	require.True(t, role.Writes)

	// What is commented out is right too.
	whole := strings.Replace(text, "executor: model\n", "executor: [command, model]\n", 1)
	whole = strings.Replace(whole, "run_command]", "run_command, delegate]", 1)
	for _, field := range []string{
		"command: [", "model: strong", "fallback", "thinking", "mcp_servers", "delegates", "concurrency", "network", "include_contents",
	} {
		require.Contains(t, whole, "\n# "+field)
		whole = strings.Replace(whole, "\n# "+field, "\n"+field, 1)
	}
	role, err = ParseRole("x.md", whole)
	require.NoError(t, err, whole)
	require.Equal(t, []string{spec.ExecutorCommand, spec.ExecutorModel}, role.Executors())
	require.Equal(t, "strong", role.Model)
	require.True(t, role.Network)

	text, err = Starter(spec.RoleReader)
	require.NoError(t, err)
	require.Contains(t, text, "You read code and answer one question about it.")
	_, err = Starter("My Role")
	require.ErrorContains(t, err, `a name is 1 to 32 lower-case letters, digits, - and _, and begins with a letter`)
	_, err = Starter("x\ny: z")
	require.Error(t, err)
}
