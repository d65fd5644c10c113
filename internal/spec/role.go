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
	RoleReviewer  = "reviewer"
	RoleTests     = "test-writer"
)

// ProvesRedGreen is the value of Role.Proves for roles whose tests must fail without the change, and pass with it.
const ProvesRedGreen = "red-green"

// The executors.
const (
	ExecutorModel   = "model"
	ExecutorCommand = "command"
	// Person is in place of a role, and of its executor, where a person made a patch.
	Person = "person"
)

// MadeBy begins the description of a role that a line of a terminal made; the line follows. Its command is given its files.
const MadeBy = "Made by "

// Role says who does a task.
type Role struct {
	Name        string `json:"name,omitempty" jsonschema:"Name of the role; default the name of the file."`
	Description string `json:"description,omitempty" jsonschema:"One line for the people and the master who choose."`
	// Executor is model, command, or empty for a tester that is its gates alone. A role file's executor can be a list, whose rest
	// is Chain: the executors that take over, one after the other, when the gates reject what the one before made.
	Executor string   `json:"executor,omitempty"`
	Chain    []string `json:"chain,omitempty" file:"-"`
	Command  []string `json:"command,omitempty" jsonschema:"Program and arguments, for executor command; no shell line. {files} is all files of the task."`
	Each     bool     `json:"each,omitempty" jsonschema:"Runs the command once for each file of the task; {file} is that file."`
	Join     bool     `json:"join,omitempty" jsonschema:"The command treats each file by itself: one process may be given the files of many shards."`
	Model    string   `json:"model,omitempty" jsonschema:"Alias of the project file or name of a model; default the alias default."`
	Fallback []string `json:"fallback,omitempty" jsonschema:"Fallback models, in this order, while the role's own is overloaded; default what its alias says."`
	Thinking string   `json:"thinking,omitempty" enum:"MINIMAL,LOW,MEDIUM,HIGH" jsonschema:"How much the model thinks; default what its alias says."`
	Tier     string   `json:"tier,omitempty" enum:"standard,priority" jsonschema:"Service tier; default what the alias says."`
	Tools    []string `json:"tools,omitempty" jsonschema:"Tools of the model; default list_files, read_file, search, load_artifact."`

	IncludeContents IncludeContents `json:"include_contents,omitempty" enum:"none,full" jsonschema:"What its tasks inherit when they do not say. none: decision record and handoffs. full: also the sessions before them."`

	Narrative string `json:"narrative,omitempty" enum:"plain,fenced" jsonschema:"How other agents' turns are shown: between markers (fenced, default) or plain."`
	// Inputs are the default of a task's inputs; see Plan.WithRoleInputs.
	Inputs []string `json:"inputs,omitempty" jsonschema:"What its tasks are given besides depends_on: task ids, id/artifact, or role:NAME."`
	Limits Limits   `json:"limits,omitzero" jsonschema:"Limits of one attempt; default the project's."`
	// Tags are of workers elsewhere; the worker in the process of a run does the tasks of all roles.
	Tags        []string        `json:"tags,omitempty" jsonschema:"A worker elsewhere takes its tasks only if it was started with all of these tags."`
	Concurrency int             `json:"concurrency,omitempty" jsonschema:"At most so many attempts of the role at once; default no cap."`
	Output      json.RawMessage `json:"output,omitempty" jsonschema:"JSON Schema (type object) of what submit_result takes as output."`

	MCPServers map[string]MCPServer `json:"mcp_servers,omitempty" jsonschema:"Tool servers by name; an empty definition is the project's of that name."`

	Delegates []string `json:"delegates,omitempty" jsonschema:"Roles that delegate and transfer may name; default every role that does tasks."`
	Network   bool     `json:"network,omitempty" jsonschema:"Opens the network to the role's commands."`
	Loopback  bool     `json:"loopback,omitempty" jsonschema:"Lets commands with the network reach this machine's own addresses through the proxy too."`
	// Secrets name variables that no gate and no tool of a model sees.
	Secrets []string `json:"secrets,omitempty" jsonschema:"Variables that only the role's command sees; only in a role file that you name yourself."`
	// Hosts bound what the proxy lets the command reach, beside what the owner of the machine grants.
	Hosts []string `json:"hosts,omitempty" jsonschema:"The only hosts that the role's command reaches with network: true: names, *.example.com, addresses, ranges, localhost; default all."`
	// Gateway is the form of a model's service. Divisi holds its key, which is among the secrets, keeps the budget and waits
	// for quotas.
	Gateway string   `json:"gateway,omitempty" enum:"anthropic,gemini,openai" jsonschema:"The service of models that the command calls through Divisi, which holds its key: the command sees a token of the attempt, and needs no network."`
	Models  []string `json:"models,omitempty" jsonschema:"The only models that the command may call through its gateway; default all."`
	// Usage is the coding agent whose output is read: what it used, what it said at last, why it failed.
	Usage   string       `json:"usage,omitempty" enum:"claude,codex,gemini,opencode" jsonschema:"The coding agent that the command is: what it used is read from the JSON that it prints."`
	Context ContextRules `json:"context,omitzero" jsonschema:"What of its history the model is shown."`

	ToolOutput map[string]ToolOutput `json:"tool_output,omitempty" jsonschema:"What becomes of large output, by tool; * for all others."`
	Proves     string                `json:"proves,omitempty" enum:"red-green" jsonschema:"red-green: its tests must fail on the base and pass with the rest of their change set."`
	// Writes means that the role's work tree becomes a patch. Derived: a role with a writing tool or executor command.
	Writes bool `json:"writes,omitempty" jsonschema:"false for a command that only verifies."`
	// Instruction is the body of the role file; Source is built-in or a path; Named is the absolute path of a file that a person
	// named with --role, empty for a role of Divisi or of a repository; Notices state what of an imported definition is not
	// honoured, one sentence each.
	Instruction string   `json:"instruction,omitempty" file:"-"`
	Source      string   `json:"source,omitempty" file:"-"`
	Named       string   `json:"named,omitempty" file:"-"`
	Notices     []string `json:"notices,omitempty" file:"-"`
}

// ChangesFiles reports whether the role's work tree becomes a patch: it says so, it runs a command, or it has a writing tool.
func (r *Role) ChangesFiles() bool {
	return r.Writes || r.Runs(ExecutorCommand) || slices.ContainsFunc(r.Tools, WritingTool)
}

// Thinks reports whether each attempt of the role's executor costs tokens: it is a model, or a coding agent.
func (r *Role) Thinks() bool { return r.Executor == ExecutorModel || r.Usage != "" }

// The coding agents whose output is read; see Role.Usage.
const (
	AgentClaude   = "claude"
	AgentCodex    = "codex"
	AgentGemini   = "gemini"
	AgentOpencode = "opencode"
)

// CodingAgents are these, sorted.
func CodingAgents() []string { return []string{AgentClaude, AgentCodex, AgentGemini, AgentOpencode} }

// UseModel gives the role another model. How it thinks, its tier and its fallbacks are then those of its alias.
func (r *Role) UseModel(alias string) { r.Model, r.Thinking, r.Tier, r.Fallback = alias, "", "", nil }

// Runs reports whether the executor is the role's, or one of its chain.
func (r *Role) Runs(executor string) bool {
	return executor != "" && (r.Executor == executor || slices.Contains(r.Chain, executor))
}

// Executors are all executors of the role, in the order in which they are tried.
func (r *Role) Executors() []string {
	if r.Executor == "" {
		return nil
	}
	return append([]string{r.Executor}, r.Chain...)
}

// Effective returns the limits that hold for the role's attempts, where the project's are those that it does not set. A command
// has a time alone.
func (r *Role) Effective(project Limits) Limits {
	l := r.Limits.Or(project)
	if !r.Runs(ExecutorModel) {
		return Limits{Time: l.Time}
	}
	return l
}
