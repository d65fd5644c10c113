package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

var roleName = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)

// Validate returns every fault of the role. Of env only the roles count.
func (r *Role) Validate(env Env) []Problem {
	v := &problems{}
	if !roleName.MatchString(r.Name) {
		v.addf("name", strings.ToLower(plainID(r.Name)),
			"role name %q: a name is 1 to 32 lower-case letters, digits, - and _, and begins with a letter", r.Name)
	}
	r.executorProblems(v)
	r.modelProblems(v)
	r.secretProblems(v)
	r.gatewayProblems(v)
	r.hostProblems(v)
	r.delegateProblems(v, env.Roles)
	r.toolProblems(v)
	v.values("", reflect.ValueOf(*r))
	r.outputProblems(v)
	r.inputProblems(v)
	r.contextProblems(v)
	v.servers("mcp_servers", r.MCPServers)
	if r.Loopback && !r.Network {
		v.addf("loopback", "", "loopback needs network: true: without it the role's commands reach no other "+
			"machine and not this one")
	}
	v.text("instruction", r.Instruction)
	v.template("instruction", r.Instruction)
	return v.list
}

func (r *Role) executorProblems(v *problems) {
	v.argv("command", r.Command)
	v.placeholders("command", r.Command, r.Each)
	if r.Each && !r.Runs(ExecutorCommand) {
		v.addf("each", "", "each is for executor %s, which role %q does not have", ExecutorCommand, r.Name)
	}
	list := r.Executors()
	for i, executor := range list {
		path := "executor"
		if len(list) > 1 {
			path = fmt.Sprintf("executor[%d]", i)
		}
		v.oneOf(path, "executor", executor, ExecutorModel, ExecutorCommand)
		if slices.Index(list, executor) != i {
			v.addf(path, "", "executor %s is in the chain twice", executor)
		}
	}
	if r.Executor == "" && r.Name != RoleTester {
		v.addf("executor", "", "role %q has no executor: only %s can be its gates alone", r.Name, RoleTester)
	}
	if r.Name == RoleMaster && len(r.Chain) > 0 {
		v.addf("executor", "", "the master has one executor: what it answers, no gate rejects")
	}
	if r.Proves != "" && !r.Writes {
		v.addf("proves", "", "proves is for a role that writes tests, and role %q writes nothing", r.Name)
	}
	if r.Name == RoleTester && r.Writes {
		v.addf("writes", "", "a tester changes nothing")
	}
	r.joinProblems(v)
	r.chainProblems(v)
}

// joinProblems faults a role whose shards no process could have in common.
func (r *Role) joinProblems(v *problems) {
	if !r.Join {
		return
	}
	own := "join runs one process for the files of many shards, and role %q "
	switch {
	case r.Executor != ExecutorCommand:
		v.addf("join", "", own+"does not begin with executor %s", r.Name, ExecutorCommand)
	case r.Each:
		v.addf("join", "", own+"has each: true, which runs one for each file", r.Name)
	case !slices.Contains(r.Command, ArgFiles):
		v.addf("join", "", own+"has no %s in its command", r.Name, ArgFiles)
	case !r.Writes:
		v.addf("join", "", own+"writes nothing that could be told apart by its files", r.Name)
	case r.Network:
		v.addf("join", "", own+"has the network", r.Name)
	case len(r.Secrets) > 0:
		v.addf("join", "", own+"has secrets", r.Name)
	case len(r.Inputs) > 0:
		v.addf("join", "", own+"has inputs", r.Name)
	case r.Usage != "":
		v.addf("join", "", own+"has a usage, which is of one task", r.Name)
	}
}

// chainProblems faults a chain that the gates could not judge, or whose next executor could not better the work.
func (r *Role) chainProblems(v *problems) {
	switch {
	case len(r.Chain) == 0:
	case r.Name == RoleTester:
		v.addf("executor", "", "a tester judges with one executor")
	case slices.Contains(r.Chain, ExecutorCommand) && len(r.Command) == 0: // a task names one only for the first executor
		v.addf("command", "", "role %q falls back to executor %s but has no command", r.Name, ExecutorCommand)
	case r.Runs(ExecutorModel) && !slices.ContainsFunc(r.Tools, WritingTool):
		v.addf("tools", ToolEditFile,
			"the model in a chain fixes rejected work, and role %q has no tool that writes", r.Name)
	case !r.Writes:
		v.addf("writes", "", "the executors of a chain take over when the gates reject a patch, so role %q writes", r.Name)
	}
}

// modelProblems faults what is missing for the executors of the role, and what none of them uses.
func (r *Role) modelProblems(v *problems) {
	for i, name := range r.Fallback {
		path := fmt.Sprintf("fallback[%d]", i)
		switch {
		case strings.TrimSpace(name) == "":
			v.addf(path, "", "the model has no name")
		case name == r.Model || slices.Index(r.Fallback, name) != i:
			v.addf(path, "", "model %q is tried already", name)
		}
	}
	if r.Runs(ExecutorModel) && strings.TrimSpace(r.Instruction) == "" {
		v.addf("instruction", "", "role %q has no instruction: write one below the front matter", r.Name)
	}
	unknown := func(executor string) bool { return executor != ExecutorModel && executor != ExecutorCommand }
	if r.Executor == "" || slices.ContainsFunc(r.Executors(), unknown) {
		return
	}
	for _, f := range []struct {
		name, executor string
		given          bool
	}{
		{"command", ExecutorCommand, len(r.Command) > 0},
		{"secrets", ExecutorCommand, len(r.Secrets) > 0},
		{"usage", ExecutorCommand, r.Usage != ""},
		{"tools", ExecutorModel, len(r.Tools) > 0 && r.Name != RoleMaster},
		{"model", ExecutorModel, r.Model != ""},
		{"fallback", ExecutorModel, len(r.Fallback) > 0},
		{"thinking", ExecutorModel, r.Thinking != ""},
		{"tier", ExecutorModel, r.Tier != ""},
		{"mcp_servers", ExecutorModel, len(r.MCPServers) > 0},
		{"delegates", ExecutorModel, len(r.Delegates) > 0},
	} {
		if f.given && !r.Runs(f.executor) {
			v.addf(f.name, "", "%s is for executor %s, and role %q has executor %s",
				f.name, f.executor, r.Name, strings.Join(r.Executors(), ", "))
		}
	}
}

func (r *Role) secretProblems(v *problems) {
	for i, name := range r.Secrets {
		path := fmt.Sprintf("secrets[%d]", i)
		switch {
		case !envName.MatchString(name):
			v.addf(path, "", "%q is not a variable's name; values are taken from the environment", name)
		case slices.Index(r.Secrets, name) != i:
			v.addf(path, "", "%s is listed twice", name)
		case slices.Contains(RepositoryVars, name):
			v.addf(path, "", namesRepository, name)
		}
	}
}

// hostProblems faults hosts that bound nothing: only a command of its own is held to them.
func (r *Role) hostProblems(v *problems) {
	switch {
	case len(r.Hosts) == 0:
		return
	case !r.Network:
		v.addf("hosts", "", "hosts needs network: true: without it the role's command reaches no host")
	case r.Name == RoleTester:
		v.addf("hosts", "", "hosts is for a command of a role, and the network of %s is that of its gates", r.Name)
	case r.Executor != ExecutorCommand || len(r.Chain) > 0:
		v.addf("hosts", "", "hosts needs %s as the only executor, and role %q has %s",
			ExecutorCommand, r.Name, strings.Join(r.Executors(), ", "))
	}
	for i, host := range r.Hosts {
		if problem := hostProblem(host); problem != "" {
			v.addf(fmt.Sprintf("hosts[%d]", i), "", "%q: %s", host, problem)
		}
	}
}

// BuiltInRole reports whether a name is that of a role that Divisi brings.
func BuiltInRole(name string) bool {
	return slices.Contains([]string{RoleMaster, RoleReader, RoleGenerator, RoleTester, RoleReviewer, RoleTests}, name)
}

// delegateProblems faults roles that no task of an agent could name. Roles that nil knows are not looked for.
func (r *Role) delegateProblems(v *problems, roles map[string]Role) {
	asks := slices.Contains(r.Tools, ToolDelegate) || slices.Contains(r.Tools, ToolTransfer)
	if len(r.Delegates) > 0 && r.Runs(ExecutorModel) && !asks {
		v.addf("delegates", "", "role %q has neither the tool %s nor %s", r.Name, ToolDelegate, ToolTransfer)
	}
	for i, name := range r.Delegates {
		path := fmt.Sprintf("delegates[%d]", i)
		switch {
		case name == RoleMaster || name == RoleTester:
			v.addf(path, "", "role %s does no tasks of agents", name)
		case slices.Index(r.Delegates, name) != i:
			v.addf(path, "", "role %q is listed twice", name)
		case roles != nil:
			v.known(path, "role", name, slices.Sorted(maps.Keys(roles)))
		}
	}
}

func (r *Role) toolProblems(v *problems) {
	known := Tools()
	for i, name := range r.Tools {
		path := fmt.Sprintf("tools[%d]", i)
		switch {
		case !slices.Contains(known, name):
			v.known(path, "tool", name, known)
		case slices.Index(r.Tools, name) != i:
			v.addf(path, "", "tool %q is listed twice", name)
		case name == ToolDispatch && r.Name != RoleMaster:
			v.addf(path, "", "only the master has the tool %s", ToolDispatch)
		case WritingTool(name) && (r.Name == RoleMaster || r.Name == RoleTester):
			v.addf(path, "", "role %s changes nothing, and %s does", r.Name, name)
		}
	}
	if r.Name == RoleMaster && r.Runs(ExecutorModel) && !slices.Contains(r.Tools, ToolDispatch) {
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
