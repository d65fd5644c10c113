package spec

// MCPServer is a server of tools by the Model Context Protocol: a program that is started for each attempt, or an address.
type MCPServer struct {
	// Command is the program and its arguments, spoken to over its standard input and output. It runs confined like every
	// command of the role.
	Command []string `json:"command,omitempty" yaml:"command,omitempty"`
	// Env names variables of Divisi's own environment that the program is given. Values never stand in a file.
	Env []string `json:"env,omitempty" yaml:"env,omitempty"`
	// URL is the address of a server that speaks streamable HTTP; Headers are sent to it, header to the variable of Divisi's
	// environment with its value.
	URL     string            `json:"url,omitempty" yaml:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	// Tools limits the server's tools to those named; empty means all.
	Tools []string `json:"tools,omitempty" yaml:"tools,omitempty"`
	// Timeout bounds one call; 0 means the role's limit for a tool.
	Timeout Duration `json:"timeout,omitzero" yaml:"timeout,omitempty"`
}

// Empty reports whether nothing is defined.
func (m *MCPServer) Empty() bool { return len(m.Command) == 0 && m.URL == "" }
