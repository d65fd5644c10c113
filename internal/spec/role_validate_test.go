package spec

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// joined makes a role that is right with join, and changes it.
func joined(change func(*Role)) func(*Role) {
	return func(r *Role) {
		*r = Role{Name: r.Name, Executor: ExecutorCommand, Command: []string{"x", ArgFiles}, Writes: true, Join: true}
		change(r)
	}
}

func TestRoleValidate(t *testing.T) {
	t.Parallel()
	good := Role{Name: "scout", Executor: ExecutorModel, Instruction: "look", Tools: []string{ToolSearch}}
	require.Empty(t, good.Validate(Env{}))
	together := good
	joined(func(*Role) {})(&together)
	require.Empty(t, together.Validate(Env{}))
	require.Empty(t, (&Role{Name: RoleTester}).Validate(Env{}))
	for _, c := range []struct {
		name   string
		change func(*Role)
		want   string
	}{
		{
			"name", func(r *Role) { r.Name = "My Role" },
			`lower-case letters, digits, - and _, and begins with a letter (did you mean "my-role"?)`,
		},
		{"executor", func(r *Role) { r.Executor = "modell" }, `(did you mean "model"?)`},
		{"no executor", func(r *Role) { r.Executor = "" }, `only tester can be its gates alone`},
		{"no instruction", func(r *Role) { r.Instruction = " " }, `write one below the front matter`},
		{"command of a model", func(r *Role) { r.Command = []string{"x"} }, `command is for executor command, and role "scout" has executor model`},
		{"tools of a command", func(r *Role) { r.Executor = ExecutorCommand }, `tools is for executor model`},
		{
			"model of a command", func(r *Role) { r.Executor, r.Model = ExecutorCommand, "m" },
			`model is for executor model`,
		},
		{
			"unknown tool", func(r *Role) { r.Tools = []string{"serch"} },
			`tools[0]: there is no tool "serch"; there are ask, delegate, dispatch, edit_file, git_diff, git_log, glob, ` +
				`list_files, load_artifact, load_memory, outline, read_file, request_scope, run_command, run_gates, ` +
				`save_artifact, save_memory, search, submit_result, transfer, update_plan, write_file (did you mean "search"?)`,
		},
		{
			"removed tool", func(r *Role) { r.Tools = []string{"apply_patch"} },
			`tools[0]: tool "apply_patch" was removed: list edit_file, which takes several edits in several files`,
		},
		{
			"replaced tool", func(r *Role) { r.Tools = []string{"report_progress"} },
			`tools[0]: tool "report_progress" was removed: list update_plan`,
		},
		{
			"tool twice", func(r *Role) { r.Tools = []string{ToolSearch, ToolSearch} },
			`tools[1]: tool "search" is listed twice`,
		},
		{"dispatch", func(r *Role) { r.Tools = []string{ToolDispatch} }, `only the master`},
		{"master without dispatch", func(r *Role) { r.Name = RoleMaster }, `no tool to plan with`},
		{
			"gateway of a model", func(r *Role) { r.Executor, r.Gateway, r.Instruction = ExecutorModel, GatewayOpenAI, "do" },
			`gateway: gateway needs command as the only executor`,
		},
		{
			"gateway without a key", func(r *Role) { r.Executor, r.Command, r.Gateway = ExecutorCommand, []string{"x"}, GatewayAnthropic },
			`secrets: the gateway of role "scout" needs the key of its service: name ANTHROPIC_API_KEY among its secrets`,
		},
		{"models without a gateway", func(r *Role) { r.Models = []string{"m"} }, `models bounds what a command calls through its gateway`},
		{"tester writes", func(r *Role) { r.Name, r.Tools = RoleTester, []string{ToolEditFile} }, `changes nothing`},
		{"include", func(r *Role) { r.IncludeContents = "all" }, `include_contents "all"`},
		{"join of a model", func(r *Role) { r.Join = true }, `join: join runs one process for the files of many shards, and role "scout" does not begin with executor command`},
		{"join of each", joined(func(r *Role) { r.Each = true }), `has each: true, which runs one for each file`},
		{"join without files", joined(func(r *Role) { r.Command = []string{"x"} }), `has no {files} in its command`},
		{"join without writing", joined(func(r *Role) { r.Writes = false }), `writes nothing that could be told apart by its files`},
		{"join with the network", joined(func(r *Role) { r.Network = true }), `has the network`},
		{"join with secrets", joined(func(r *Role) { r.Secrets = []string{"KEY"} }), `has secrets`},
		{"join with usage", joined(func(r *Role) { r.Usage = AgentCodex }), `role "scout" has a usage, which is of one task`},
		{"usage of a model", func(r *Role) { r.Usage = AgentCodex }, `usage: usage is for executor command, and role "scout" has executor model`},
		{"usage that is not known", joined(func(r *Role) { r.Join, r.Usage = false, "codec" }), `"codec"`},
		{"hosts without the network", joined(func(r *Role) { r.Hosts = []string{"x"} }), `hosts: hosts needs network: true`},
		{
			"hosts of the tester", joined(func(r *Role) {
				r.Join, r.Writes, r.Name, r.Network, r.Hosts = false, false, RoleTester, true, []string{"x"}
			}),
			`hosts is for a command of a role`,
		},
		{"hosts of a model", func(r *Role) { r.Network, r.Hosts = true, []string{"x"} }, `hosts needs command as the only executor`},
		{
			"a host with a port", joined(func(r *Role) { r.Join, r.Network, r.Hosts = false, true, []string{"api.example.com:443"} }),
			`hosts[0]: "api.example.com:443": it is no name of a host without a port`,
		},
		{"join with inputs", joined(func(r *Role) { r.Inputs = []string{"x"} }), `join: join runs one process for the files of many shards, and role "scout" has inputs`},
		{"loopback alone", func(r *Role) { r.Loopback = true }, "loopback: loopback needs network: true"},
		{"narrative", func(r *Role) { r.Narrative = "plane" }, `(did you mean "plain"?)`},
		{
			"limits", func(r *Role) { r.Limits.Turns, r.Concurrency = -1, -1 },
			"limits.turns: -1 is below 0\nconcurrency: -1 is below 0",
		},
		{"output", func(r *Role) { r.Output = json.RawMessage(`[]`) }, `not a JSON Schema object`},
		{"output type", func(r *Role) { r.Output = json.RawMessage(`{"type":"array"}`) }, `so its type is object`},
	} {
		role := good
		c.change(&role)
		require.Contains(t, said(role.Validate(Env{})), c.want, c.name)
	}
}

func TestChainValidate(t *testing.T) {
	t.Parallel()
	good := Role{
		Name: "mod", Executor: ExecutorCommand, Chain: []string{ExecutorModel}, Command: []string{"sed"}, Model: "strong",
		Instruction: "mend", Tools: []string{ToolEditFile, ToolDelegate}, Writes: true, Fallback: []string{"cheap"}, Thinking: "LOW",
		Tier: TierPriority, Delegates: []string{"scout"}, Secrets: []string{"A_KEY"}, Network: true,
	}
	require.Empty(t, good.Validate(Env{}))
	require.Equal(t, []string{"command", "model"}, good.Executors())
	require.True(t, good.Runs(ExecutorModel) && good.Runs(ExecutorCommand) && good.ChangesFiles())
	require.False(t, (&Role{}).Runs(""), "none is not an executor")
	require.True(t, (&Role{Executor: ExecutorModel, Chain: []string{ExecutorCommand}}).ChangesFiles(), "also where Writes is not derived")
	for _, c := range []struct {
		name   string
		change func(*Role)
		want   string
	}{
		{"twice", func(r *Role) { r.Chain = []string{ExecutorModel, ExecutorModel} }, "executor[2]: executor model is in the chain twice"},
		{
			"unknown", func(r *Role) { r.Chain = []string{"modell"} },
			`executor[1]: executor "modell" is not one of model, command (did you mean "model"?)`,
		},
		{"tester", func(r *Role) { r.Name = RoleTester }, "a tester judges with one executor"},
		{
			"no command", func(r *Role) { r.Executor, r.Chain, r.Command = ExecutorModel, []string{ExecutorCommand}, nil },
			`command: role "mod" falls back to executor command but has no command`,
		},
		{"master", func(r *Role) { r.Name = RoleMaster }, "the master has one executor"},
		{"no tool", func(r *Role) { r.Tools = []string{ToolDelegate, ToolSearch} }, `tools: the model in a chain fixes rejected work`},
		{"writes", func(r *Role) { r.Writes = false }, `writes: the executors of a chain take over when the gates reject a patch`},
		{"no instruction", func(r *Role) { r.Instruction = "" }, "has no instruction"},
		{"thinking", func(r *Role) { r.Thinking = "low" }, `(did you mean "LOW"?)`},
		{"tier", func(r *Role) { r.Tier = "prority" }, `tier "prority" is not one of standard, priority (did you mean "priority"?)`},
		{"removed tier", func(r *Role) { r.Tier = "flex" }, `tier: tier "flex" was removed: use standard or priority`},
		{"fallback", func(r *Role) { r.Fallback = []string{"a", " ", "a", "strong"} }, "fallback[1]: the model has no name\n" +
			"fallback[2]: model \"a\" is tried already\nfallback[3]: model \"strong\" is tried already"},
		{"delegates", func(r *Role) { r.Delegates = []string{"a", "a", RoleMaster} }, "delegates[1]: role \"a\" is listed twice\n" +
			"delegates[2]: role master does no tasks of agents"},
		{"no delegate", func(r *Role) { r.Tools = []string{ToolEditFile} }, "delegates: role \"mod\" has neither the tool delegate nor transfer"},
		{"secrets", func(r *Role) { r.Secrets = []string{"A=b", "C", "C", "GIT_DIR"} }, "secrets[0]: \"A=b\" is not a variable's name; " +
			"values are taken from the environment\nsecrets[2]: C is listed twice\n" +
			"secrets[3]: GIT_DIR names the repository of the shell that starts Divisi"},
		{"command alone", func(r *Role) { r.Chain = nil }, `tools is for executor model, and role "mod" has executor command`},
		{"model alone", func(r *Role) { r.Executor, r.Chain = ExecutorModel, nil }, `secrets is for executor command`},
		{"limits", func(r *Role) { r.Limits = Limits{Idle: -1, Call: -1, Tool: -1, ToolCalls: -1} }, "limits.tool_calls: -1 is below 0\n" +
			"limits.idle: -1ns is negative\nlimits.call: -1ns is negative\nlimits.tool: -1ns is negative"},
	} {
		role := good
		c.change(&role)
		require.Contains(t, said(role.Validate(Env{})), c.want, c.name)
	}
	problems := good.Validate(Env{Roles: map[string]Role{"scuot": {}, "x": {}}})
	require.Equal(t, `delegates[0]: there is no role "scout"; there are scuot, x (did you mean "scuot"?)`, said(problems))
}

func TestProjectValidate(t *testing.T) {
	t.Parallel()
	require.Empty(t, (&Project{}).Validate())
	p := Project{
		Setup: Setup{Command: []string{" "}}, Gates: []Gate{
			{Name: "a b", Command: []string{"x"}, Format: "junt"}, {Name: "t"}, {Name: "t", Command: []string{"x"}, Timeout: -1},
		},
		Models: map[string]Model{"m": {Window: -1, MaxOutput: -1, Thinking: "high", PriceIn: math.NaN(), PriceOut: -1}},
		Limits: Limits{Tokens: -1}, Protected: []string{"/x", "[", "app/**"}, Env: []string{"OK", "A=b", "GIT_INDEX_FILE"},
		Parallel: -1,
	}
	got := said(p.Validate())
	for _, want := range []string{
		"setup[0]: the program's name is empty", `gates[0].name: gate name "a b"`, `(did you mean "a-b"?)`,
		`gates[0].format: format "junt" is not one of go-test-json, junit, tap, json, text, findings (did you mean "junit"?)`,
		`gates[1].command: gate "t" has no command`, `gates[2].name: gate name "t" is taken by gates[1]`, "gates[2].timeout",
		"models.m.name: the model has no name", "models.m.window", "models.m.max_output", `(did you mean "HIGH"?)`,
		"models.m.price_in", "models.m.price_out", "limits.tokens", `protected[0]: "/x"`,
		`protected[1]: "[": the glob is malformed`,
		`env[1]: "A=b" is not a variable's name`, "env[2]: GIT_INDEX_FILE names the repository of the shell", "parallel: -1",
	} {
		require.Contains(t, got, want)
	}
	require.Len(t, p.Validate(), 18, got)
}

func TestResultValidate(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a", 40)
	good := Result{
		Task: "a", Attempt: 1, Delivery: 1, Status: StatusDone,
		Patch:    &Patch{Commit: id, Base: id, Tree: id, Files: []string{"a"}},
		Handoff:  Handoff{Output: json.RawMessage(`{}`)},
		Receipts: []Receipt{{Gate: "t", Verdict: VerdictPass, Signatures: []string{"a", "b"}}},
	}
	require.Empty(t, good.Validate(), said(good.Validate()))
	bad := Result{
		Status: "finished", Handoff: Handoff{Output: json.RawMessage(`{`)}, Error: &Fault{}, Took: -1,
		Patch:    &Patch{Commit: "HEAD", Files: []string{"../x"}, Added: -1, Deleted: -1},
		Usage:    Usage{Calls: -1, Prompt: -1, Output: -1, Thoughts: -1},
		Receipts: []Receipt{{Signatures: []string{"b", "a", ""}, Duration: -1, Verdict: "ok"}},
	}
	got := said(bad.Validate())
	for _, want := range []string{
		"task: the result names no task", "attempt: 0 is below 1", "delivery: 0 is below 1", `status "finished" is not one of`,
		"error.class", "handoff.output", `patch.commit: "HEAD" is not an object id`, "patch.base", "patch.tree", "patch.files[0]",
		"patch.added", "patch.deleted", "usage.calls", "usage.prompt", "usage.cached: 0 cached tokens are more", "usage.output",
		"usage.thoughts", "receipts[0].gate", `verdict "ok"`, "receipts[0].signatures[1]: the signatures are not sorted",
		"receipts[0].signatures: a signature is empty", "receipts[0].duration_ns", "took_ns",
	} {
		require.Contains(t, got, want)
	}
	require.Contains(t, said((&Result{}).Validate()), "the result has no status")
	require.Contains(t, said((&Result{Status: StatusFailed}).Validate()), "a failed result needs an error")
	require.Contains(t, said((&Result{Status: StatusDone, Error: &Fault{Class: "x"}}).Validate()), "carries no error")
}
