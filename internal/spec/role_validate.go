package spec

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var roleName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Validate returns every fault of the role. Only the tools of env count.
func (r *Role) Validate(env Env) []Problem {
	v := &problems{}
	if !roleName.MatchString(r.Name) {
		v.addf("name", strings.ToLower(plainID(r.Name)),
			"role name %q: a name is 1 to 32 lower-case letters, digits, - and _, and begins with a letter", r.Name)
	}
	v.oneOf("executor", "executor", r.Executor, ExecutorModel, ExecutorCommand)
	r.executorProblems(v)
	r.toolProblems(v, env.Tools)
	v.oneOf("include_contents", "include_contents", string(r.IncludeContents), string(IncludeNone), string(IncludeFull))
	v.oneOf("narrative", "narrative", r.Narrative, "plain", "fenced")
	v.limits("limits", r.Limits)
	v.atLeast("concurrency", r.Concurrency, 0)
	r.outputProblems(v)
	r.inputProblems(v)
	r.contextProblems(v)
	v.text("instruction", r.Instruction)
	v.template("instruction", r.Instruction)
	return v.list
}

func (r *Role) executorProblems(v *problems) {
	v.argv("command", r.Command)
	switch r.Executor {
	case ExecutorModel:
		if strings.TrimSpace(r.Instruction) == "" {
			v.addf("instruction", "", "role %q has no instruction: write one below the front matter", r.Name)
		}
		if len(r.Command) > 0 {
			v.addf("command", "", "command belongs to executor command, and role %q has executor model", r.Name)
		}
	case ExecutorCommand:
		if len(r.Tools) > 0 {
			v.addf("tools", "", "tools belong to executor model, and role %q has executor command", r.Name)
		}
		if r.Model != "" {
			v.addf("model", "", "model belongs to executor model, and role %q has executor command", r.Name)
		}
	case "":
		if r.Name != RoleTester {
			v.addf("executor", "", "role %q has no executor: only %s can be its gates alone", r.Name, RoleTester)
		}
	}
	if r.Name == RoleMaster && r.Executor == ExecutorCommand {
		v.addf("executor", ExecutorModel, "the master is a model")
	}
	if r.Name == RoleTester && r.Writes {
		v.addf("writes", "", "a tester changes nothing")
	}
}

func (r *Role) toolProblems(v *problems, known []string) {
	if known == nil {
		known = Tools()
	}
	for i, name := range r.Tools {
		path := fmt.Sprintf("tools[%d]", i)
		switch {
		case !contains(known, name):
			v.known(path, "tool", name, known)
		case slices.Index(r.Tools, name) != i:
			v.addf(path, "", "tool %q is listed twice", name)
		case name == ToolDispatch && r.Name != RoleMaster:
			v.addf(path, "", "only the master has the tool %s", ToolDispatch)
		case WritingTool(name) && (r.Name == RoleMaster || r.Name == RoleTester):
			v.addf(path, "", "role %s changes nothing, and %s does", r.Name, name)
		}
	}
	if r.Name == RoleMaster && r.Executor == ExecutorModel && !contains(r.Tools, ToolDispatch) {
		v.addf("tools", ToolDispatch, "the master has no tool to plan with")
	}
}

func (r *Role) outputProblems(v *problems) {
	if len(r.Output) == 0 {
		return
	}
	var schema map[string]any
	if err := json.Unmarshal(r.Output, &schema); err != nil {
		v.addf("output", "", "output is not a JSON Schema object")
		return
	}
	if kind, ok := schema["type"]; !ok || kind != "object" {
		v.addf("output.type", "object", "output describes the arguments of %s, so its type is object", ToolSubmitResult)
	}
}
