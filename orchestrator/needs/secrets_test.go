package needs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestWhatTheRunNamesAsSecretIsOne(t *testing.T) {
	t.Setenv("LOCAL_MODEL", "of a model of the project")
	t.Setenv("WRAPPED", "of a role")
	t.Setenv("ISSUES_AUTH", "of a tool server")
	t.Setenv("SOME_TOKEN", "looks like a secret")
	t.Setenv("SOME_WORD", "is none")
	got := Secrets(&run.Spec{
		Project: spec.Project{
			Models:     map[string]spec.Model{"local": {Name: "x", KeyEnv: "LOCAL_MODEL"}},
			MCPServers: map[string]spec.MCPServer{"issues": {URL: "https://a.test", Headers: map[string]string{"A": "ISSUES_AUTH"}}},
		},
		Roles: map[string]spec.Role{"r": {Secrets: []string{"WRAPPED"}, MCPServers: map[string]spec.MCPServer{"issues": {}}}},
	})
	for _, want := range []string{"of a model of the project", "of a role", "of a tool server", "looks like a secret"} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "is none")
}
