package configs

import (
	"strings"

	"divisi/internal/spec"
)

// dialect is the form in which another program defines its agents.
type dialect struct {
	// program is the other reader of such files, dir their directory in a repository.
	program, dir string
	// tools maps that program's tools to ours; one of ours may stand for several of theirs.
	tools map[string]string
	// lacking says of tools why there is none here.
	lacking map[string]string
	// unkept says of fields why they are not honoured; an empty reason means that nothing is lost.
	unkept map[string]string
	// model returns our alias or name for a model of theirs; ok is false for a model that is not known.
	model func(name string) (model string, ok bool)
	// split takes the name of a tool of an MCP server apart, given the names of the servers; tool is empty for all of them.
	split func(name string, servers []string) (server, tool string, ok bool)
}

// dialects are in the order in which their roles are taken; later wins.
func dialects() []*dialect { return []*dialect{&geminiCLI, &claudeCode} }

const (
	noWeb     = "no tool here reaches the web"
	noTodo    = "the agent's plan stays in its conversation"
	noSkills  = "skills are not loaded: put their text into the instruction"
	noSession = "Divisi runs agents without an interactive session"
	noCells   = "no tool here knows the cells of a notebook"
	noJobs    = "commands here do not run in the background"
	noData    = "resources of MCP servers are not read"
)

var claudeCode = dialect{
	program: "Claude Code", dir: ".claude/agents",
	tools: map[string]string{
		"Read": spec.ToolReadFile, "LS": spec.ToolListFiles, "Glob": spec.ToolGlob, "Grep": spec.ToolSearch,
		"Edit": spec.ToolEditFile, "MultiEdit": spec.ToolEditFile, "Write": spec.ToolWriteFile, "Bash": spec.ToolRunCommand,
		"Task": spec.ToolDelegate, "Agent": spec.ToolDelegate, "AskUserQuestion": spec.ToolAsk,
		"TodoWrite": spec.ToolUpdatePlan,
	},
	lacking: map[string]string{
		"WebFetch": noWeb, "WebSearch": noWeb, "TodoRead": noTodo,
		"NotebookEdit": noCells, "NotebookRead": noCells,
		"BashOutput": noJobs, "KillShell": noJobs, "KillBash": noJobs, "Skill": noSkills, "SlashCommand": noSession,
		"ExitPlanMode": noSession, "EnterPlanMode": noSession,
	},
	unkept: map[string]string{
		"color": "", "skills": noSkills, "hooks": "hooks are not run: a gate can check a patch",
		"memory":        "an agent has no memory of its own: see the tools load_memory and save_memory",
		"background":    "", // every agent works beside the others
		"isolation":     "", // every agent has a work tree of its own
		"initialPrompt": noSession, "disabled": "Divisi cannot disable an agent file; remove it",
	},
	model: func(name string) (string, bool) {
		for _, m := range []struct{ part, alias string }{
			{"opus", aliasStrong}, {"haiku", spec.ModelCheap}, {"sonnet", aliasDefault},
		} {
			if strings.Contains(strings.ToLower(name), m.part) {
				return m.alias, true
			}
		}
		return "", false
	},
	// mcp__server__tool, mcp__server or mcp__server__*
	split: func(name string, _ []string) (server, tool string, ok bool) {
		rest, ok := strings.CutPrefix(name, "mcp__")
		server, tool, _ = strings.Cut(rest, "__")
		return server, strings.Trim(tool, "*"), ok && server != ""
	},
}

var geminiCLI = dialect{
	program: "Gemini CLI", dir: ".gemini/agents",
	tools: map[string]string{
		"read_file": spec.ToolReadFile, "read_many_files": spec.ToolReadFile, "list_directory": spec.ToolListFiles,
		"glob": spec.ToolGlob, "grep_search": spec.ToolSearch, "search_file_content": spec.ToolSearch,
		"replace": spec.ToolEditFile, "write_file": spec.ToolWriteFile, "run_shell_command": spec.ToolRunCommand,
		"save_memory": spec.ToolSaveMemory, "ask_user": spec.ToolAsk, "complete_task": spec.ToolSubmitResult,
		"write_todos": spec.ToolUpdatePlan, "update_topic": spec.ToolUpdatePlan,
	},
	lacking: map[string]string{
		"web_fetch": noWeb, "google_web_search": noWeb, "activate_skill": noSkills,
		"get_internal_docs": "Divisi does not have the manual of Gemini CLI",
		"enter_plan_mode":   noSession, "exit_plan_mode": noSession,
		"invoke_agent":      "an imported agent cannot start other agents",
		"read_mcp_resource": noData, "list_mcp_resources": noData,
	},
	unkept: map[string]string{
		"kind": "", "display_name": "", "temperature": "the model's own temperature is kept",
	},
	model: func(name string) (string, bool) {
		switch name {
		case "auto", "flash":
			return aliasDefault, true
		case "pro":
			return aliasStrong, true
		case "flash-lite":
			return spec.ModelCheap, true
		}
		return name, strings.HasPrefix(name, "gemini-")
	},
	// mcp_server_tool or mcp_server_*, where a server's name can hold _ too
	split: func(name string, servers []string) (server, tool string, ok bool) {
		rest, ok := strings.CutPrefix(name, spec.MCPPrefix)
		for _, known := range servers {
			if t, found := strings.CutPrefix(rest, known+"_"); found && len(known) > len(server) {
				server, tool = known, t
			}
		}
		if server == "" {
			server, tool, _ = strings.Cut(rest, "_")
		}
		return server, strings.Trim(tool, "*"), ok && server != ""
	},
}

// The aliases that stand for models of other makers, beside spec.ModelCheap.
const (
	aliasDefault = "default"
	aliasStrong  = "strong"
)
