package spec

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// MCPServer is a server of tools by the Model Context Protocol: a program that is started for each attempt and runs confined
// like every command of the role, or an address that Divisi itself calls, whether or not the role's commands have a network.
// Env and Headers name variables of Divisi's environment, secrets too. Values never are in a file.
type MCPServer struct {
	Command []string          `json:"command,omitempty" jsonschema:"Program and arguments, spoken to over its standard input and output."`
	Env     []string          `json:"env,omitempty" jsonschema:"Variables of your environment that the program is given."`
	URL     string            `json:"url,omitempty" jsonschema:"Address of a server that speaks streamable HTTP."`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"Headers that are sent, each with the variable that has its value."`
	Tools   []string          `json:"tools,omitempty" jsonschema:"Only these tools of the server; default all."`
	Timeout Duration          `json:"timeout,omitzero" jsonschema:"Bound of one call; default the role's limit for a tool."`
}

var (
	serverName = lazyregexp.New(`^[a-z0-9-]{1,24}$`)
	headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// Empty reports whether it is not said where the server is: then it is the project's of the same name.
func (m *MCPServer) Empty() bool { return len(m.Command) == 0 && m.URL == "" }

// Servers are the tool servers of a role. A definition that is empty is the project's, with the role's tools and timeout where
// it has them.
func (p *Project) Servers(r *Role) map[string]MCPServer {
	servers := make(map[string]MCPServer, len(r.MCPServers))
	for name, own := range r.MCPServers {
		if own.Empty() {
			whole := p.MCPServers[name]
			if len(own.Tools) > 0 {
				whole.Tools = own.Tools
			}
			whole.Timeout = cmp.Or(own.Timeout, whole.Timeout)
			own = whole
		}
		servers[name] = own
	}
	return servers
}

// servers faults definitions of tool servers.
func (p *problems) servers(path string, servers map[string]MCPServer) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if !serverName.MatchString(name) {
			p.addf(path, plainServer(name), "server name %q: a name is 1 to 24 lower-case letters, digits and -", name)
		}
		m := servers[name]
		m.problems(p, path+"."+name)
	}
}

// plainServer turns an arbitrary name into a valid one that resembles it; empty where nothing does.
func plainServer(name string) string {
	name = strings.ReplaceAll(strings.ToLower(plainID(name)), "_", "-")
	if name = name[:min(len(name), 24)]; serverName.MatchString(name) {
		return name
	}
	return ""
}

func (m *MCPServer) problems(v *problems, at string) {
	if len(m.Command) > 0 && m.URL != "" {
		v.addf(at, "", "a server is a command or a url, not both")
	}
	v.argv(at+".command", m.Command)
	if len(m.Command) == 0 && len(m.Env) > 0 {
		v.addf(at+".env", "", "env belongs to a server with a command")
	}
	if m.URL == "" && len(m.Headers) > 0 {
		v.addf(at+".headers", "", "headers belong to a server with a url")
	}
	if m.URL != "" {
		if fault := addressFault(m.URL); fault != "" {
			v.addf(at+".url", "", "%s", fault)
		}
	}
	m.variableProblems(v, at)
	for i, name := range m.Tools {
		if name == "" || slices.Index(m.Tools, name) != i {
			v.addf(fmt.Sprintf("%s.tools[%d]", at, i), "", "tool %q is empty or listed twice", name)
		}
	}
}

// variableProblems faults what does not name a variable. Values are never shown: they may stand where a name should.
func (m *MCPServer) variableProblems(v *problems, at string) {
	const fault = "this is not a variable's name; values are taken from the environment"
	for i, name := range m.Env {
		if !envName.MatchString(name) {
			v.addf(fmt.Sprintf("%s.env[%d]", at, i), "", fault)
		} else if slices.Contains(RepositoryVars, name) {
			v.addf(fmt.Sprintf("%s.env[%d]", at, i), "", namesRepository, name)
		}
	}
	for _, header := range slices.Sorted(maps.Keys(m.Headers)) {
		if !headerName.MatchString(header) {
			v.addf(at+".headers", "", "%q is not the name of a header", header)
		} else if !envName.MatchString(m.Headers[header]) {
			v.addf(at+".headers."+header, "", fault)
		}
	}
}

// addressFault reports what is wrong with an address; empty when nothing is. The address is not shown: it may hold a password.
func addressFault(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return "the url is not of the form https://host/path"
	case u.User != nil:
		return "the url holds a user name or a password: send it as a header, by the name of a variable"
	case u.Fragment != "":
		return "the url has a fragment, which no server sees"
	}
	return ""
}

// serverProblems faults what the project defines without saying where it is.
func (p *Project) serverProblems(v *problems) {
	v.servers("mcp_servers", p.MCPServers)
	for _, name := range slices.Sorted(maps.Keys(p.MCPServers)) {
		if m := p.MCPServers[name]; m.Empty() {
			v.addf("mcp_servers."+name, "", "the server has neither a command nor a url")
		}
	}
}

// undefinedServers faults the servers that a role leaves to the project and that the project does not have.
func (p *Project) undefinedServers(v *problems, role *Role) {
	defined := slices.Sorted(maps.Keys(p.MCPServers))
	for _, server := range slices.Sorted(maps.Keys(role.MCPServers)) {
		if own := role.MCPServers[server]; own.Empty() && !slices.Contains(defined, server) {
			v.addf("mcp_servers."+server, Nearest(server, defined), "role %s leaves the MCP server %q to the project file, "+
				"which has none of that name; there %s: define it there, or give it a command or a url",
				role.Name, server, listNames(defined))
		}
	}
}
