package worker

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"divisi/bus"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/journal"
	"divisi/subagents/toolset"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// withHello builds the example server of the MCP SDK where commands find it.
func (s *site) withHello() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	s.programs = filepath.Join(s.dir, "bin")
	to := filepath.Join(s.programs, "hello")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "github.com/modelcontextprotocol/go-sdk/examples/server/hello")
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, string(out))
}

func greeter(script string) map[string]spec.MCPServer {
	return map[string]spec.MCPServer{"greeter": {Command: []string{"sh", "-c", script + "exec hello"}}}
}

// declared are the names of the tools that a request offers.
func declared(r *model.Request) []string {
	var names []string
	for _, t := range r.Config.Tools {
		for _, d := range t.FunctionDeclarations {
			names = append(names, d.Name)
		}
	}
	return names
}

func TestSlowARolesServersAreItsTools(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.withHello()
	m := &modeltest.Script{Steps: []modeltest.Step{
		modeltest.CallsTool("mcp_greeter_greet", map[string]any{"name": "Divisi"}),
		modeltest.CallsTool("mcp_greeter_greet", map[string]any{"name": 7}),
		modeltest.Submits("greeted"),
	}}
	role := writer
	role.MCPServers = map[string]spec.MCPServer{"greeter": {Tools: []string{"greet"}}}
	w := s.work(m, "generator")
	a := s.assignment(role, "t1")
	a.Project.MCPServers = greeter("echo x >planted; ")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Equal(t, []string{"planted"}, r.Patch.Files, "the tree is the server's to write where it is the role's")
	s.settled(w)
	calls := m.Sent()
	require.Equal(t, []string{"mcp_greeter_greet", "read_file", "run_command", "submit_result", "write_file"}, declared(calls[0]))
	seen, err := json.Marshal(calls[2].Contents)
	require.NoError(t, err)
	require.Contains(t, string(seen), `{"output":"Hi Divisi"}`)
	require.Contains(t, string(seen), `name: is of type number and must be string`)

	events, _, err := journal.ReadSession(t.Context(), s.bus, bus.AttemptFilter("r1", "generator", "t1", 1))
	require.NoError(t, err)
	plain, err := toolset.Declarations(a, nil)
	require.NoError(t, err)
	told, err := toolset.WithServers(t.Context(), s.bus, events, plain)
	require.NoError(t, err)
	sent, err := json.Marshal(calls[0].Config.Tools)
	require.NoError(t, err)
	again, err := json.Marshal([]*genai.Tool{{FunctionDeclarations: told}})
	require.NoError(t, err)
	require.JSONEq(t, string(sent), string(again), "what the model was told can be told again without the server")
}

func TestSlowAServerCannotWriteForARoleThatDoesNot(t *testing.T) {
	t.Parallel()
	if !sandbox.Probe().Confined() {
		t.Skip("this machine does not confine")
	}
	s := newSite(t)
	s.withHello()
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool(spec.ToolListFiles, nil), modeltest.Submits("looked")}}
	role := spec.Role{
		Name: "reader", Executor: spec.ExecutorModel, Model: "m", Tools: []string{spec.ToolListFiles},
		MCPServers: greeter(`echo x >planted; pwd >"$HOME/mine" || exit 1; `),
	}
	w := s.work(m, "reader")
	a := s.assignment(role, "t1")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	s.settled(w)
	seen, err := json.Marshal(m.Sent()[1].Contents)
	require.NoError(t, err)
	require.Contains(t, string(seen), "a.txt")
	require.NotContains(t, string(seen), "planted")
}

func TestARoleWithoutItsServerIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("never")}}, "generator")
	for name, c := range map[string]struct {
		server spec.MCPServer
		want   string
	}{
		"dies":      {spec.MCPServer{Command: []string{"sh", "-c", "echo no licence >&2; exit 3"}}, "standard error:\nno licence"},
		"missing":   {spec.MCPServer{Command: []string{"no-such-program"}}, "no-such-program: not found on PATH"},
		"variable":  {spec.MCPServer{Command: []string{"true"}, Env: []string{"NO_SUCH_VARIABLE"}}, "needs NO_SUCH_VARIABLE, which is not set"},
		"undefined": {spec.MCPServer{}, "has neither a command nor a url"},
	} {
		role := writer
		role.MCPServers = map[string]spec.MCPServer{"greeter": c.server}
		a := s.assignment(role, name)
		s.enqueue(a)
		r := s.result(a)
		require.Equal(t, spec.StatusFailed, r.Status)
		require.Equal(t, "assignment", r.Error.Class)
		require.Contains(t, r.Error.Message, "the tools of role generator: the MCP server greeter ")
		require.Contains(t, r.Error.Message, c.want)
	}
	s.settled(w)
}
