package mcpserver

import (
	"slices"
	"strings"

	"divisi/orchestrator/view"
)

// way is a next step: a call of a tool of this server, or a command for the person.
type way struct {
	Tool      string         `json:"tool,omitempty" jsonschema:"A tool of this server, with its arguments."`
	Arguments map[string]any `json:"arguments,omitempty"`
	Command   string         `json:"command,omitempty" jsonschema:"A command for your person: no tool of this server does it."`
	Why       string         `json:"why"`
}

func (s *Server) ways(next []view.Way) (out []way) {
	for _, w := range next {
		name, args := toolFor(strings.Fields(w.Command))
		if s.tools[name] == nil {
			out = append(out, way{Command: s.opts.Calls(w.Command), Why: w.Why})
			continue
		}
		if slices.Contains(strings.Fields(w.Command), "--brief") {
			w.Why += ": write it as the argument brief"
		}
		out = append(out, way{Tool: name, Arguments: args, Why: w.Why})
	}
	return out
}

// likeTools are the commands about one run, or one task of it, that a tool does, and that take nothing more.
var likeTools = map[string]string{
	"show": "report", "watch": "wait", "decide": "decisions", "pause": "pause", "resume": "resume", "log": "log", "diff": "diff",
}

// toolFor is the tool that does what a command does, with its arguments; "" for none.
func toolFor(command []string) (tool string, args map[string]any) {
	if len(command) < 3 || command[0] != "divisi" {
		return "", nil
	}
	verb, rest := command[1], command[3:]
	run, task, ofTask := strings.Cut(command[2], "/")
	args = map[string]any{"run": run}
	switch tool = likeTools[verb]; {
	case verb == "skip" || verb == "retry":
		return tasksFor(verb, args, rest)
	case tool == "" || len(rest) > 0:
		return "", nil
	case ofTask && tool == "report":
		tool = "tasks"
	}
	if ofTask {
		args["task"] = task
	}
	return tool, args
}

// tasksFor are the arguments of a command that names tasks, and may ask for another brief. That is a placeholder, which is left
// out: the client writes the brief.
func tasksFor(verb string, args map[string]any, rest []string) (string, map[string]any) {
	flag := slices.IndexFunc(rest, func(a string) bool { return strings.HasPrefix(a, "-") })
	if flag >= 0 {
		switch {
		case verb == "retry" && rest[flag] == "--forgotten":
			args["forgotten"] = true
		case verb != "retry" || rest[flag] != "--brief":
			return "", nil
		}
		rest = rest[:flag]
	}
	if len(rest) > 0 {
		args["tasks"] = rest
	}
	return verb, args
}
