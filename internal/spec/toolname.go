package spec

// The names of the tools that a role can list.
const (
	ToolListFiles  = "list_files"
	ToolReadFile   = "read_file"
	ToolSearch     = "search"
	ToolEditFile   = "edit_file"
	ToolWriteFile  = "write_file"
	ToolRunCommand = "run_command"
	// ToolLoadArtifact shows an artifact, or a part of it, for one request.
	ToolLoadArtifact = "load_artifact"
	// ToolLoadMemory searches what outlived earlier runs; ToolSaveMemory proposes what should outlive this one.
	ToolLoadMemory = "load_memory"
	ToolSaveMemory = "save_memory"
	// ToolSubmitResult ends an attempt; every model role has it, listed or not.
	ToolSubmitResult = "submit_result"
	// ToolDispatch plans; only the master may have it.
	ToolDispatch = "dispatch"
)

// Tools returns the names of all tools, sorted.
func Tools() []string {
	return []string{
		ToolDispatch, ToolEditFile, ToolListFiles, ToolLoadArtifact, ToolLoadMemory, ToolReadFile, ToolRunCommand,
		ToolSaveMemory, ToolSearch, ToolSubmitResult, ToolWriteFile,
	}
}

// WritingTool says whether a tool changes the work tree so that the role leaves a patch.
func WritingTool(name string) bool { return name == ToolEditFile || name == ToolWriteFile }
