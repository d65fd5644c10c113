package needs

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/orchestrator/run"
)

func TestNeeds(t *testing.T) {
	t.Parallel()
	writer := spec.Role{Executor: spec.ExecutorModel}
	roles := map[string]spec.Role{
		"master": {Executor: spec.ExecutorModel, Model: "strong", Tools: []string{spec.ToolDispatch}},
		"writer": writer, "codemod": {Executor: spec.ExecutorCommand}, "tester": {},
		"both": {Executor: spec.ExecutorCommand, Chain: []string{spec.ExecutorModel}, Model: "own-name", Fallback: []string{"fb"}},
		"asks": {Executor: spec.ExecutorModel, Model: "a", Tools: []string{spec.ToolDelegate}, Delegates: []string{"scout"}},
		"scout": {Executor: spec.ExecutorModel, Model: "b", Tools: []string{spec.ToolTransfer}, Context: spec.ContextRules{
			Compaction: spec.CompactionRules{Model: "c"},
		}},
		"judge": {Executor: spec.ExecutorModel, Model: "j", Context: spec.ContextRules{
			Compaction: spec.CompactionRules{Model: "jc"},
		}},
	}
	plan := func(role, verify string) *spec.Plan {
		return &spec.Plan{Tasks: []spec.Task{{Role: role, Verify: verify}}}
	}
	for _, c := range []struct {
		name   string
		plan   *spec.Plan
		models map[string]spec.Model
		want   []string
	}{
		{"commands", plan("codemod", ""), nil, nil},
		{"an unknown role", plan("stranger", ""), nil, nil},
		{"a model", plan("writer", ""), nil, []string{"default", "cheap"}},
		{
			"its stand-ins", plan("writer", ""),
			map[string]spec.Model{"default": {Name: "d", Fallback: []string{"x", "y"}}},
			[]string{"default", "x", "y", "cheap"},
		},
		{
			"the role's own stand-ins", plan("both", ""),
			map[string]spec.Model{"own-name": {Fallback: []string{"x"}}},
			[]string{"own-name", "fb", "cheap"},
		},
		{
			"stand-ins for snapshots and summaries", plan("judge", ""),
			map[string]spec.Model{"jc": {Name: "jc", Fallback: []string{"x"}}, "cheap": {Name: "c", Fallback: []string{"y"}}},
			[]string{"j", "jc", "cheap", "x", "y"},
		},
		{"who judges", plan("codemod", "judge"), nil, []string{"j", "jc", "cheap"}},
		{
			"second opinions", plan("writer", ""),
			map[string]spec.Model{"default": {Name: "d"}, "cheap": {Name: "d"}},
			[]string{"default", "cheap", "strong"},
		},
		{
			"whom it asks, and whom those hand over to", plan("asks", ""), nil,
			[]string{"a", "cheap", "own-name", "fb", "j", "jc", "strong", "b", "c", "default"},
		},
		{"a goal", nil, nil, []string{"a", "cheap", "own-name", "fb", "j", "jc", "strong", "b", "c", "default"}},
	} {
		s := run.Spec{Roles: roles, Plan: c.plan, Project: spec.Project{Models: c.models}}
		var got []string
		for _, n := range needed(&s) {
			require.NotEmpty(t, n.why)
			got = append(got, n.model)
		}
		require.Equal(t, c.want, got, c.name)
	}
}

// A key goes to the address that it stands beside, and without one to OpenAI's.
func TestKeysGoNowhereElse(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "openais")
	t.Setenv("ROUTER_KEY", "routers")
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(srv.Close)
	for env, want := range map[string]string{"": "", "ROUTER_KEY": "Bearer routers"} {
		c, err := Place{srv.URL, env}.Connect(nil)
		require.NoError(t, err)
		modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
		c.Close()
		require.Equal(t, want, got)
	}
	_, err := Place{}.Connect(nil)
	require.NoError(t, err, "the standard address has its key by itself")
	_, err = Place{"", "ROUTER_KEY"}.Connect(nil)
	require.NoError(t, err)
	t.Setenv("OPENAI_API_KEY", "")
	_, err = Place{}.Connect(nil)
	require.ErrorContains(t, err, "set OPENAI_API_KEY")
	_, err = Place{srv.URL, "NO_SUCH_KEY"}.Connect(nil)
	require.ErrorContains(t, err, "set NO_SUCH_KEY")
}
