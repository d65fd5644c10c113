package mcpserver

import (
	"slices"
	"strings"

	"divisi/orchestrator/act"
	"divisi/orchestrator/view/advice"
)

// way is a next step: a call of a tool of this server, or a command for the person.
type way struct {
	Tool      string         `json:"tool,omitempty" jsonschema:"A tool of this server, with its arguments."`
	Arguments map[string]any `json:"arguments,omitempty"`
	Command   string         `json:"command,omitempty" jsonschema:"A command for your person: no tool of this server does it."`
	Why       string         `json:"why"`
}

func (s *Server) ways(next []advice.Way) (out []way) {
	for _, w := range next {
		name, args := toolFor(strings.Fields(w.Command))
		if s.tools[name] == nil || args == nil {
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

// readers are the commands that read a run, or one task of it, with the tools that do the same.
var readers = map[string]string{"show": "report", "watch": "wait", "decide": "decisions", "log": "log", "diff": "diff"}

// toolFor is the tool that does what a command does, with its arguments; "" for none.
func toolFor(command []string) (tool string, args map[string]any) {
	if len(command) < 3 || command[0] != "divisi" {
		return "", nil
	}
	run, task, ofTask := strings.Cut(command[2], "/")
	args = map[string]any{"run": run}
	rest := command[3:]
	if e := act.Find(command[1]); e != nil && readers[e.Name] == "" {
		if ofTask {
			rest = slices.Insert(slices.Clone(rest), 0, task)
		}
		return e.Name, given(e, args, rest)
	}
	if tool = readers[command[1]]; tool == "" || len(rest) > 0 {
		return "", nil
	}
	if ofTask {
		args["task"] = task
		tool = strings.Replace(tool, "report", "tasks", 1)
	}
	return tool, args
}

// given adds the arguments of an act as its command has them: tasks, then flags; nil where the tool does not take one. A text is
// a placeholder, which is left out: the client writes it.
func given(e *act.Entry, args map[string]any, words []string) map[string]any {
	takes := e.Schema().Properties
	flag := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
	if flag < 0 {
		flag = len(words)
	}
	for _, w := range words[flag:] {
		name, is := strings.CutPrefix(w, "--")
		switch {
		case !is:
		case takes[name] == nil || slices.Contains(e.NoTool, name):
			return nil
		case takes[name].Type == "boolean":
			args[name] = true
		}
	}
	switch of := e.OfTask(); {
	case flag == 0:
	case of == "tasks":
		args[of] = words[:flag]
	case of != "":
		args[of] = words[0]
	}
	return args
}
