package configs

import (
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
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
		require.Equal(t, []string{"mine", agent, agent}, []string{role.Name, role.Usage, role.Program(role.Command)})
		require.True(t, role.Writes && !role.Network)
		require.NotEmpty(t, role.Gateway)
		require.Len(t, role.Secrets, 1)
	}
	_, err := AgentStarter("other", "mine")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A coding agent takes the built-in roles that it can, and no role of a model is left.
func TestUseAgent(t *testing.T) {
	t.Parallel()
	for _, agent := range spec.CodingAgents() {
		set, err := RolesWith("", nil)
		require.NoError(t, err)
		require.NoError(t, set.UseAgent(agent))
		require.Equal(t, []string{"generator", "master", "reader", "test-writer", "tester"}, slices.Sorted(maps.Keys(set.Roles)))
		for name, role := range set.Roles {
			require.Empty(t, role.Validate(spec.Env{Roles: set.Roles}), name)
			require.Equal(t, name == spec.RoleGenerator || name == spec.RoleTests, role.Writes, name)
		}
		require.Equal(t, []string{spec.ToolDispatch, spec.ToolAsk}, set.Roles[spec.RoleMaster].Tools)
		require.Contains(t, set.Roles[spec.RoleMaster].Instruction, "You lead a large code refactor.")
	}
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

var comment = regexp.MustCompile(`(?m)^# .*\n|  +# .*$`)

// A coding agent that plans or reads gets no tools that write, where its program can be told so.
func TestUseAgentToRead(t *testing.T) {
	t.Parallel()
	for agent, flags := range map[string][2]string{
		spec.AgentClaude: {"--allowedTools=Read,Glob,Grep", "--permission-mode=acceptEdits"},
		spec.AgentGemini: {"--approval-mode=plan", "--approval-mode=yolo"}, spec.AgentOpencode: {"--agent=plan", "--auto"},
	} {
		set, err := RolesWith("", nil)
		require.NoError(t, err)
		require.NoError(t, set.UseAgent(agent))
		for name, role := range set.Roles {
			if role.Usage != "" {
				reads := name == spec.RoleMaster || name == spec.RoleReader
				require.Equal(t, reads, slices.Contains(role.Command, flags[0]), "%s %s", agent, name)
				require.Equal(t, !reads, slices.Contains(role.Command, flags[1]), "%s %s", agent, name)
			}
		}
	}
}
