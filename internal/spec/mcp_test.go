package spec

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServerDefinitions(t *testing.T) {
	t.Parallel()
	program := MCPServer{Command: []string{"docs", "--all"}, Env: []string{"DOCS_TOKEN"}, Tools: []string{"find"}, Timeout: 1}
	address := MCPServer{URL: "https://x.example.org:8/mcp?a=b", Headers: map[string]string{"X-Key": "KEY"}}
	for name, c := range map[string]struct {
		server MCPServer
		want   string
	}{
		"a program":      {program, ""},
		"an address":     {address, ""},
		"the project's":  {MCPServer{}, ""},
		"some of it":     {MCPServer{Tools: []string{"find"}, Timeout: 1}, ""},
		"both":           {MCPServer{Command: []string{"x"}, URL: "http://x"}, "mcp_servers.s: a server is a command or a url, not both"},
		"no program":     {MCPServer{Command: []string{" "}}, "mcp_servers.s.command[0]: the program's name is empty"},
		"a value":        {MCPServer{Command: []string{"x"}, Env: []string{"A=hunter2"}}, "mcp_servers.s.env[0]: this is not a variable's name"},
		"a repository":   {MCPServer{Command: []string{"x"}, Env: []string{"GIT_DIR"}}, "mcp_servers.s.env[0]: GIT_DIR names the repository of the shell"},
		"env for a url":  {MCPServer{URL: "http://x", Env: []string{"A"}}, "mcp_servers.s.env: env belongs to a server with a command"},
		"headers":        {MCPServer{Headers: map[string]string{"X": "A"}}, "mcp_servers.s.headers: headers belong to a server with a url"},
		"a header":       {MCPServer{URL: "http://x", Headers: map[string]string{"X Y": "A"}}, `"X Y" is not the name of a header`},
		"a header value": {MCPServer{URL: "http://x", Headers: map[string]string{"X": "Bearer hunter2"}}, "mcp_servers.s.headers.X: this is not"},
		"another scheme": {MCPServer{URL: "ftp://x"}, "mcp_servers.s.url: the url is not of the form https://host/path"},
		"no host":        {MCPServer{URL: "https:///x"}, "the url is not of the form"},
		"no url":         {MCPServer{URL: "http://%"}, "the url is not of the form"},
		"a password":     {MCPServer{URL: "https://me:hunter2@x"}, "the url holds a user name or a password"},
		"a fragment":     {MCPServer{URL: "https://x/#y"}, "fragment"},
		"a tool twice":   {MCPServer{Tools: []string{"a", "a", ""}}, "mcp_servers.s.tools[1]: tool \"a\" is empty or listed twice\nmcp_servers.s.tools[2]"},
		"a timeout":      {MCPServer{Timeout: Duration(-time.Second)}, "mcp_servers.s.timeout: -1s is negative"},
	} {
		role := Role{Name: "r", Executor: ExecutorModel, Instruction: "i", MCPServers: map[string]MCPServer{"s": c.server}}
		faults := said(role.Validate(Env{}))
		if c.want == "" {
			require.Empty(t, faults, name)
		}
		require.Contains(t, faults, c.want, name)
		require.NotContains(t, faults, "hunter2", name)
	}
	for _, name := range []string{"", "Docs", "a_b", "a.b", strings.Repeat("a", 25)} {
		p := Project{MCPServers: map[string]MCPServer{name: program}}
		require.Contains(t, said(p.Validate()), "a name is 1 to 24 lower-case letters, digits and -", name)
	}
	p := Project{MCPServers: map[string]MCPServer{"a": program, "b": {Tools: []string{"x"}}}}
	require.Equal(t, "mcp_servers.b: the server has neither a command nor a url", strings.TrimSpace(said(p.Validate())))
}

func TestARolesServersAreItsOwnOrTheProjects(t *testing.T) {
	t.Parallel()
	p := Project{MCPServers: map[string]MCPServer{
		"docs": {Command: []string{"docs"}, Tools: []string{"a", "b"}, Timeout: 1}, "web": {URL: "https://x"},
	}}
	role := Role{Name: "r", MCPServers: map[string]MCPServer{
		"docs": {Tools: []string{"a"}}, "web": {Command: []string{"own"}}, "docks": {Timeout: 2},
	}}
	require.Equal(t, map[string]MCPServer{
		"docs": {Command: []string{"docs"}, Tools: []string{"a"}, Timeout: 1}, "web": {Command: []string{"own"}}, "docks": {Timeout: 2},
	}, p.Servers(&role))
	require.Equal(t, []Problem{{
		Path: "mcp_servers.docks", Suggest: "docs", Message: `role r leaves the MCP server "docks" to the project file, which has none of that name; there are ` +
			`docs, web: define it there, or give it a command or a url`,
	}}, p.RoleProblems(&role))
}
