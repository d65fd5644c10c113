package spec

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoleValidate(t *testing.T) {
	t.Parallel()
	good := Role{Name: "scout", Executor: ExecutorModel, Instruction: "look", Tools: []string{ToolSearch}}
	require.Empty(t, good.Validate(Env{}))
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
		{"command of a model", func(r *Role) { r.Command = []string{"x"} }, `command belongs to executor command`},
		{"tools of a command", func(r *Role) { r.Executor = ExecutorCommand }, `tools belong to executor model`},
		{
			"model of a command", func(r *Role) { r.Executor, r.Model = ExecutorCommand, "m" },
			`model belongs to executor model`,
		},
		{
			"unknown tool", func(r *Role) { r.Tools = []string{"serch"} },
			`tools[0]: there is no tool "serch"; there are dispatch, edit_file, list_files, load_artifact, load_memory, read_file, ` +
				`run_command, save_memory, search, submit_result, write_file (did you mean "search"?)`,
		},
		{
			"tool twice", func(r *Role) { r.Tools = []string{ToolSearch, ToolSearch} },
			`tools[1]: tool "search" is listed twice`,
		},
		{"dispatch", func(r *Role) { r.Tools = []string{ToolDispatch} }, `only the master`},
		{"master without dispatch", func(r *Role) { r.Name = RoleMaster }, `no tool to plan with`},
		{"master as command", func(r *Role) { r.Name, r.Executor = RoleMaster, ExecutorCommand }, `the master is a model`},
		{"tester writes", func(r *Role) { r.Name, r.Tools = RoleTester, []string{ToolEditFile} }, `changes nothing`},
		{"include", func(r *Role) { r.IncludeContents = "all" }, `include_contents "all"`},
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
	own := Role{Name: "x", Executor: ExecutorModel, Instruction: "i", Tools: []string{"own"}}
	require.Empty(t, own.Validate(Env{Tools: []string{"own"}}))
}

func TestProjectValidate(t *testing.T) {
	t.Parallel()
	require.Empty(t, (&Project{}).Validate())
	p := Project{
		Setup: []string{" "}, Gates: []Gate{
			{Name: "a b", Command: []string{"x"}, Format: "junt"}, {Name: "t"}, {Name: "t", Command: []string{"x"}, Timeout: -1},
		},
		Models: map[string]Model{"m": {Window: -1, MaxOutput: -1, Thinking: "high", PriceIn: math.NaN(), PriceOut: -1}},
		Limits: Limits{Tokens: -1}, Protected: []string{"/x", "[", "app/**"}, Env: []string{"OK", "A=b"},
		Parallel: -1, Budget: -1,
	}
	got := said(p.Validate())
	for _, want := range []string{
		"setup[0]: the program's name is empty", `gates[0].name: gate name "a b"`, `(did you mean "a-b"?)`,
		`gates[0].format: format "junt" is not one of go-test-json, junit, tap, text (did you mean "junit"?)`,
		`gates[1].command: gate "t" has no command`, `gates[2].name: gate name "t" is taken by gates[1]`, "gates[2].timeout",
		"models.m.name: the model has no name", "models.m.window", "models.m.max_output", `(did you mean "HIGH"?)`,
		"models.m.price_in", "models.m.price_out", "limits.tokens", `protected[0]: "/x"`,
		`protected[1]: "[": the glob is malformed`,
		`env[1]: "A=b" is not a variable's name`, "parallel: -1", "budget: -1",
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
	require.Contains(t, said((&Result{Status: StatusFailed}).Validate()), "a failed result says why")
	require.Contains(t, said((&Result{Status: StatusDone, Error: &Fault{Class: "x"}}).Validate()), "carries no error")
}
