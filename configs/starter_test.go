package configs

import (
	"io/fs"
	"os"
	"regexp"
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

func TestAgentStarter(t *testing.T) {
	t.Parallel()
	for _, agent := range spec.CodingAgents() {
		text, err := AgentStarter(agent, "mine")
		require.NoError(t, err)
		role, err := ParseRole("x.md", text)
		require.NoError(t, err)
		require.Equal(t, []string{"mine", agent, agent}, []string{role.Name, role.Usage, role.Command[0]})
		require.True(t, role.Network && role.Writes)
		require.NotEmpty(t, role.Hosts)
		require.Len(t, role.Secrets, 1)
		_, err = AgentStarter(agent, spec.RoleReader)
		require.ErrorContains(t, err, "built-in roles see no secrets")
	}
	_, err := AgentStarter("other", "mine")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// The role files of the page are those that a person is given, without their comments.
func TestThePageOfCodingAgentsHasTheirRoleFiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/coding-agents.md")
	require.NoError(t, err)
	for _, agent := range spec.CodingAgents() {
		text, err := AgentStarter(agent, agent)
		require.NoError(t, err)
		require.Contains(t, string(page), comment.ReplaceAllString(text, ""))
	}
}

// The role of a service of one's own on the page is one, and its program is the agent behind the shell.
func TestThePageOfCodingAgentsHasARoleForAServiceOfOnesOwn(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/coding-agents.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "## A service of your own\n")
	_, file, _ := strings.Cut(section, "```\n")
	file, _, found := strings.Cut(file, "```\n")
	require.True(t, found)
	role, err := ParseRole("gemini.md", file)
	require.NoError(t, err)
	require.Equal(t, spec.AgentGemini, role.Program(role.Command))
	require.True(t, role.Network && role.Loopback && role.Writes)
	require.Equal(t, `mkdir -p ~/.gemini && echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' > ~/.gemini/settings.json && exec "$@"`,
		role.Command[2])
}

var comment = regexp.MustCompile(`(?m)^# .*\n|  +# .*$`)
