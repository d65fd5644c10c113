package needs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/configs"
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

func TestABrokenRoleFileStopsTheRunsThatCanComeToIt(t *testing.T) {
	t.Parallel()
	model := func(name string, tools, delegates []string) spec.Role {
		return spec.Role{Name: name, Executor: spec.ExecutorModel, Tools: tools, Delegates: delegates}
	}
	asks := []string{spec.ToolDelegate}
	roles := map[string]spec.Role{
		"plain": model("plain", nil, nil), "open": model("open", asks, nil), "lead": model("lead", asks, []string{"second"}),
		"second": model("second", []string{spec.ToolTransfer}, []string{"bad", "lead"}), "judge": model("judge", nil, nil),
		"chief":           model("chief", asks, []string{"writer"}),
		"writer":          {Name: "writer", Executor: spec.ExecutorModel, Writes: true, Tools: []string{spec.ToolWriteFile}},
		spec.RoleReviewer: model(spec.RoleReviewer, nil, nil), spec.RoleMaster: model(spec.RoleMaster, nil, nil),
	}
	for name, tt := range map[string]struct {
		broken string
		task   spec.Task
		goal   bool
		want   bool
	}{
		"another role":                  {"bad", spec.Task{Role: "plain"}, false, false},
		"the task's":                    {"bad", spec.Task{Role: "bad"}, false, true},
		"the judge's":                   {"bad", spec.Task{Role: "plain", Verify: "bad"}, false, true},
		"the tester":                    {spec.RoleTester, spec.Task{Role: "plain", Verify: "judge"}, false, true},
		"a name that could not be read": {"", spec.Task{Role: "plain"}, false, true},
		"that, with a goal":             {"", spec.Task{}, true, true},
		"another role, with a goal":     {"bad", spec.Task{}, true, false},
		"a delegate's delegate":         {"bad", spec.Task{Role: "lead"}, false, true},
		"no delegate":                   {"plain", spec.Task{Role: "lead"}, false, false},
		"a judge's delegate":            {"bad", spec.Task{Role: "plain", Verify: "lead"}, false, true},
		"every role is a delegate":      {"bad", spec.Task{Role: "open"}, false, true},
		"save the master":               {spec.RoleMaster, spec.Task{Role: "open"}, false, false},
		"the judge of a delegate":       {spec.RoleReviewer, spec.Task{Role: "chief", Constraints: []string{"c"}}, false, true},
		"a delegate without a judge":    {spec.RoleReviewer, spec.Task{Role: "chief"}, false, false},
	} {
		s := run.Spec{Roles: roles, Plan: &spec.Plan{Tasks: []spec.Task{tt.task}}}
		if tt.goal {
			s.Plan = nil
		}
		notices, err := Broken(&s, []configs.Broken{{Role: tt.broken, File: "x.md", Err: errors.New("x.md: wrong")}})
		if tt.want {
			require.EqualError(t, err, "x.md: wrong", name)
			require.Empty(t, notices, name)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, notices, 1, name)
	}
	require.NotContains(t, roles, "bad", "the run's roles stay")

	roles[spec.RoleTester] = model(spec.RoleTester, asks, []string{"bad"})
	s := run.Spec{Roles: roles, Plan: &spec.Plan{Tasks: []spec.Task{{Role: "plain"}}}}
	_, err := Broken(&s, []configs.Broken{{Role: "bad", File: "x.md", Err: errors.New("x.md: wrong")}})
	require.EqualError(t, err, "x.md: wrong", "a delegate of the tester")
}
