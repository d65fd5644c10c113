package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheProgramOfACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		usage string
		args  []string
		want  string
	}{
		{"", nil, ""},
		{"", []string{"env", "A=b", "C_D=", "x", "E=f"}, "x"},
		{"", []string{"env", "A=b"}, "env"},
		{"", []string{"env", "-u", "x"}, "env"},
		{"", []string{"sh", "-c", "exec gemini"}, "sh"},
		{AgentGemini, []string{"sh", "-c", `mkdir -p ~/.gemini && exec "$@"`, "sh", "gemini", "--prompt", "Go."}, "gemini"},
		{AgentGemini, []string{"/bin/sh", "-c", "mkdir -p ~/.gemini; gemini --prompt Go."}, "gemini"},
		{AgentGemini, []string{"bash", "-c", "cd x && exec gemini"}, "gemini"},
		{AgentGemini, []string{"sh", "-c", "npx gemini; echo the gemini"}, "sh"},
		{AgentGemini, []string{"node", "gemini"}, "node"},
	} {
		role := Role{Usage: c.usage}
		require.Equal(t, c.want, role.Program(c.args), "%v", c.args)
	}
}
