package spec

import (
	"encoding/json"
	"slices"
)

// The roles that Divisi brings.
const (
	RoleMaster    = "master"
	RoleReader    = "reader"
	RoleGenerator = "generator"
	RoleTester    = "tester"
)

// The executors.
const (
	ExecutorModel   = "model"
	ExecutorCommand = "command"
)

// Role says who does a task.
type Role struct {
	Name        string `json:"name" yaml:"name"`
	Description string `json:"description,omitempty" yaml:"description,omitempty"`
	// Executor is model, command, or empty for a tester that is its gates alone. A role file's executor can be a list, whose rest
	// is Chain.
	Executor string `json:"executor,omitempty" yaml:"-"`
	// Chain are the executors that take over, one after the other, when the gates reject what the one before made.
	Chain []string `json:"chain,omitempty" yaml:"-"`
	// Command is the program and its arguments for executor command.
	Command []string `json:"command,omitempty" yaml:"command,omitempty"`
	// Each runs the command once for each file of the task.
	Each bool `json:"each,omitempty" yaml:"each,omitempty"`
	// Model is an alias of the project file or a model's name; empty means the default model.
	Model string `json:"model,omitempty" yaml:"model,omitempty"`
	// Fallback are the models that stand in, in their order, while the role's own is overloaded; empty means what the alias says.
	Fallback []string `json:"fallback,omitempty" yaml:"fallback,omitempty"`
	// Thinking and Tier replace what the alias says.
	Thinking        string          `json:"thinking,omitempty" yaml:"thinking,omitempty"`
	Tier            string          `json:"tier,omitempty" yaml:"tier,omitempty"`
	Tools           []string        `json:"tools,omitempty" yaml:"tools,omitempty"`
	IncludeContents IncludeContents `json:"include_contents,omitempty" yaml:"include_contents,omitempty"`
	// Narrative is plain or fenced (default).
	Narrative string `json:"narrative,omitempty" yaml:"narrative,omitempty"`
	// Inputs are the default of a task's inputs; see Plan.WithRoleInputs.
	Inputs      []string        `json:"inputs,omitempty" yaml:"inputs,omitempty"`
	Limits      Limits          `json:"limits,omitzero" yaml:"limits,omitempty"`
	Concurrency int             `json:"concurrency,omitempty" yaml:"concurrency,omitempty"`
	Output      json.RawMessage `json:"output,omitempty" yaml:"-"`
	// MCPServers are the tool servers of the role, by the name that their tools get as a prefix. An empty definition stands for
	// the project's server of that name.
	MCPServers map[string]MCPServer `json:"mcp_servers,omitempty" yaml:"mcp_servers,omitempty"`
	// Delegates are the roles that delegate and transfer may name; empty means every role that can do a task.
	Delegates []string `json:"delegates,omitempty" yaml:"delegates,omitempty"`
	// Network opens the network to the role's commands.
	Network bool `json:"network,omitempty" yaml:"network,omitempty"`
	// Loopback lets commands with the network reach this machine's own addresses too.
	Loopback bool `json:"loopback,omitempty" yaml:"loopback,omitempty"`
	// Secrets name variables of Divisi's own environment that the command of executor command sees, and nothing else does: no
	// gate, no tool of a model. Only a role file that a person names may have them.
	Secrets []string `json:"secrets,omitempty" yaml:"secrets,omitempty"`
	// Context says how the role's requests are compiled; the zero value means the defaults.
	Context ContextRules `json:"context,omitzero" yaml:"context,omitempty"`
	// ToolOutput says what becomes of large output, by tool; "*" serves the tools that are not named.
	ToolOutput map[string]ToolOutput `json:"tool_output,omitempty" yaml:"tool_output,omitempty"`
	// Writes says that the role's work tree becomes a patch. Derived: a role with a writing tool or executor command.
	Writes bool `json:"writes,omitempty" yaml:"writes,omitempty"`
	// Instruction is the body of the role file.
	Instruction string `json:"instruction,omitempty" yaml:"-"`
	// Source says where the role came from: built-in, or a path.
	Source string `json:"source,omitempty" yaml:"-"`
	// Notices say what of an imported definition is not honoured, one sentence each.
	Notices []string `json:"notices,omitempty" yaml:"-"`
}

// ChangesFiles reports whether the role's work tree becomes a patch: it says so, it runs a command, or it has a writing tool.
func (r *Role) ChangesFiles() bool {
	return r.Writes || r.Runs(ExecutorCommand) || slices.ContainsFunc(r.Tools, WritingTool)
}

// Runs reports whether the executor is the role's, or one of its chain.
func (r *Role) Runs(executor string) bool {
	return executor != "" && (r.Executor == executor || contains(r.Chain, executor))
}

// Executors are all executors of the role, in the order in which they are tried.
func (r *Role) Executors() []string {
	if r.Executor == "" {
		return nil
	}
	return append([]string{r.Executor}, r.Chain...)
}
