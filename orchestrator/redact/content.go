package redact

import (
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// conductor is the author of what the conductor itself tells an agent, with what gates printed in it.
const conductor = "conductor"

// arguments are those of the calls of each tool that are shown: what the agent wants, but not the content of files. Of a tool
// that is missing, such as one of an MCP server, none is.
var arguments = map[string][]string{
	spec.ToolListFiles: {"path", "glob", "depth"}, spec.ToolGlob: {"patterns", "path", "ignored"},
	spec.ToolReadFile: {"path", "start_line", "end_line"}, spec.ToolOutline: {"paths", "docs"},
	spec.ToolSearch:     {"pattern", "path", "glob", "context", "ignore_case", "literal", "files_only"},
	spec.ToolRunCommand: {"command", "args", "timeout_seconds"}, spec.ToolRunGates: {"gates"},
	spec.ToolGitLog: {"path", "limit"}, spec.ToolGitDiff: {"path", "commit"},
	spec.ToolWriteFile: {"path"}, spec.ToolSaveArtifact: {"name", "path"},
	spec.ToolLoadArtifact: {"start_line", "end_line", "start_byte", "end_byte", "search"},
	spec.ToolLoadMemory:   {"query"}, spec.ToolSaveMemory: {"title", "tags", "paths"},
	spec.ToolUpdatePlan: {"items"}, spec.ToolAsk: {"question", "options"}, spec.ToolRequestScope: {"paths", "reason"},
	spec.ToolDelegate:     {"role", "brief", "title", "files", "include_contents", "background", "artifacts"},
	spec.ToolTransfer:     {"role", "brief"},
	spec.ToolSubmitResult: {"summary", "findings", "deviations", "artifacts", "constraints"},
	spec.ToolDispatch:     {"goal", "decision_record", "constraints", "tasks", "final"},
}

// shown is the visible content of an event: what a model says and calls, and what people and agents write to agents. The thoughts
// of a model, what it is given to read, and what tools answer are not.
func shown(e *contextscope.Event) *genai.Content {
	if e.Content == nil {
		return nil
	}
	speaks := e.Kind == contextscope.KindTurn || e.Kind == contextscope.KindUser && e.Agent == "" && e.Author != conductor
	out := &genai.Content{Role: e.Content.Role, Parts: make([]*genai.Part, len(e.Content.Parts))}
	for i, p := range e.Content.Parts {
		switch {
		case p == nil:
		case p.FunctionResponse != nil:
			out.Parts[i] = &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: p.FunctionResponse.ID, Name: p.FunctionResponse.Name, Response: map[string]any{"output": Hidden},
			}}
		case speaks && p.FunctionCall != nil:
			out.Parts[i] = &genai.Part{FunctionCall: called(p.FunctionCall)}
		case speaks && p.Text != "" && !p.Thought:
			out.Parts[i] = &genai.Part{Text: p.Text}
		default:
			out.Parts[i] = &genai.Part{Text: Hidden}
		}
	}
	return out
}

// called is the visible part of a call: the names of all its arguments, and the values of some.
func called(c *genai.FunctionCall) *genai.FunctionCall {
	out := &genai.FunctionCall{ID: c.ID, Name: c.Name, Args: map[string]any{}}
	for name := range c.Args {
		out.Args[name] = Hidden
	}
	for _, name := range arguments[c.Name] {
		if value, given := c.Args[name]; given {
			out.Args[name] = value
		}
	}
	return out
}
