package spec

// The names of the tools that a role can list.
const (
	ToolListFiles  = "list_files"
	ToolReadFile   = "read_file"
	ToolSearch     = "search"
	ToolEditFile   = "edit_file"
	ToolWriteFile  = "write_file"
	ToolRunCommand = "run_command"
	ToolGlob       = "glob"
	ToolOutline    = "outline"
	ToolRunGates   = "run_gates"
	ToolGitLog     = "git_log"
	ToolGitDiff    = "git_diff"
	// ToolUpdatePlan keeps the agent's own plan, which people see too.
	ToolUpdatePlan = "update_plan"
	// ToolRequestScope asks for more of the repository to write; ToolAsk puts a question to the master or a person.
	ToolRequestScope = "request_scope"
	ToolAsk          = "ask"
	// ToolDelegate has another role do a task and waits for its handoff; ToolTransfer hands the own task over.
	ToolDelegate = "delegate"
	ToolTransfer = "transfer"
	// ToolLoadArtifact shows an artifact, or a part of it, for one request.
	ToolLoadArtifact = "load_artifact"
	// ToolSaveArtifact keeps text under a name, for other tasks and people.
	ToolSaveArtifact = "save_artifact"
	// ToolLoadMemory searches what outlived earlier runs; ToolSaveMemory proposes what should outlive this one.
	ToolLoadMemory = "load_memory"
	ToolSaveMemory = "save_memory"
	// ToolSubmitResult ends an attempt; every model role has it, listed or not.
	ToolSubmitResult = "submit_result"
	// ToolDispatch plans; only the master may have it.
	ToolDispatch = "dispatch"
)

// MCPPrefix begins the names of the tools of MCP servers: mcp_<server>_<tool>. A role with a server has its tools without
// listing them.
const MCPPrefix = "mcp_"

// Tools returns the names of all built-in tools, sorted.
func Tools() []string {
	return []string{
		ToolAsk, ToolDelegate, ToolDispatch, ToolEditFile, ToolGitDiff, ToolGitLog, ToolGlob, ToolListFiles,
		ToolLoadArtifact, ToolLoadMemory, ToolOutline, ToolReadFile, ToolRequestScope, ToolRunCommand,
		ToolRunGates, ToolSaveArtifact, ToolSaveMemory, ToolSearch, ToolSubmitResult, ToolTransfer, ToolUpdatePlan, ToolWriteFile,
	}
}

// WritingTool reports whether a tool changes the work tree so that the role leaves a patch.
func WritingTool(name string) bool {
	return name == ToolEditFile || name == ToolWriteFile
}

// TreeTool reports whether a tool works in the work tree, so that a role with it needs one.
func TreeTool(name string) bool {
	switch name {
	case ToolListFiles, ToolReadFile, ToolSearch, ToolGlob, ToolOutline, ToolRunCommand, ToolRunGates, ToolGitLog, ToolGitDiff:
		return true
	}
	return WritingTool(name)
}
