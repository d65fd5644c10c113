package spec

// The names of the tools that a role can list.
const (
	ToolListFiles    = "list_files"
	ToolReadFile     = "read_file"
	ToolSearch       = "search"
	ToolEditFile     = "edit_file"
	ToolWriteFile    = "write_file"
	ToolRunCommand   = "run_command"
	ToolReadArtifact = "read_artifact"
	// ToolSubmitResult ends an attempt; every model role has it, listed or not.
	ToolSubmitResult = "submit_result"
	// ToolDispatch plans; only the master may have it.
	ToolDispatch = "dispatch"
)

// Tools returns the names of all tools, sorted.
func Tools() []string {
	return []string{
		ToolDispatch, ToolEditFile, ToolListFiles, ToolReadArtifact, ToolReadFile,
		ToolRunCommand, ToolSearch, ToolSubmitResult, ToolWriteFile,
	}
}

// WritingTool says whether a tool changes the work tree so that the role leaves a patch.
func WritingTool(name string) bool { return name == ToolEditFile || name == ToolWriteFile }
