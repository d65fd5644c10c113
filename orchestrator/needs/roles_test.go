package needs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestARunWithAGoalIsToldOfRolesThatCannotWork(t *testing.T) {
	t.Parallel()
	needy := spec.MCPServer{Command: []string{"tickets"}, Env: []string{"NO_SUCH_VARIABLE"}}
	s := run.Spec{
		Project: spec.Project{MCPServers: map[string]spec.MCPServer{"tickets": needy}},
		Roles: map[string]spec.Role{
			spec.RoleMaster: {Name: spec.RoleMaster, Executor: spec.ExecutorModel},
			"asker": {Name: "asker", Executor: spec.ExecutorModel, MCPServers: map[string]spec.MCPServer{
				"tickets": {}, "web": {Command: []string{"web"}},
			}},
		},
	}
	require.NoError(t, Servers(&s), "the master may never come to it")
	require.Equal(t, []string{"tasks of role asker would fail: the MCP server tickets needs NO_SUCH_VARIABLE, which is not set in " +
		"Divisi's environment: set it before you start Divisi, or take it out of the server's definition"}, Notices(&s))
	s.Plan = &spec.Plan{Tasks: []spec.Task{{ID: "a", Role: "asker"}}}
	require.ErrorContains(t, Servers(&s), "role asker: the MCP server tickets needs NO_SUCH_VARIABLE")
}
