package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoleInputsAreTheDefaultOfATasksInputs(t *testing.T) {
	t.Parallel()
	roles := map[string]Role{
		"reader": {Name: "reader"}, "writer": {Name: "writer", Inputs: []string{"role:reader", "style", "style/table", "elsewhere"}},
		"selfish": {Name: "selfish", Inputs: []string{"role:selfish", "mine"}},
	}
	plan := Plan{Tasks: []Task{
		{ID: "r1", Role: "reader"},
		{ID: "w1", Role: "writer", DependsOn: []string{"r1", "x"}},
		{ID: "style", Role: "writer"},
		{ID: "r2", Role: "reader", Shard: &Shard{By: "file"}},
		{ID: "w2", Role: "writer"},
		{ID: "w3", Role: "writer", Inputs: []string{"r2"}, DependsOn: []string{"r1"}},
		{ID: "w4", Role: "writer", Inputs: []string{}},
		{ID: "mine", Role: "selfish"},
		{ID: "yours", Role: "selfish"},
	}}
	got := plan.WithRoleInputs(roles)
	want := map[string][]string{
		"r1": nil, "r2": nil, "w1": {"r1", "x", "style", "style/table"}, "style": {"r1"}, "w2": {"r1", "r2", "style", "style/table"},
		"w3": {"r2"}, "w4": {}, "mine": nil, "yours": {"mine"},
	}
	for _, task := range got.Tasks {
		require.Equal(t, want[task.ID], task.Inputs, task.ID)
	}
	require.Nil(t, plan.Tasks[1].Inputs, "the plan that was given is not touched")
}

func TestRoleInputsThatCanNeverMeanATask(t *testing.T) {
	t.Parallel()
	role := Role{Name: "r", Executor: ExecutorModel, Instruction: "i", Inputs: []string{
		"role:reader", "survey", "survey/table", "survey/a/b", "role:", "role:master", "role:No", "survey/", "a b", "",
	}}
	var paths []string
	for _, p := range role.Validate(Env{}) {
		paths = append(paths, p.Path)
	}
	require.Equal(t, []string{"inputs[4]", "inputs[5]", "inputs[6]", "inputs[7]", "inputs[8]", "inputs[9]"}, paths)
}

func TestUsableWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ window, output, want int }{
		{0, 100, 0}, {1_000_000, 65_536, 934_464}, {8_000, 65_536, 6_000}, {8_000, 0, 6_000}, {8_000, 500, 7_500},
	} {
		require.Equal(t, tt.want, UsableWindow(Model{Window: tt.window, MaxOutput: tt.output}), "%+v", tt)
	}
}

func TestARoleWhoseInstructionFillsItsModelIsAProblem(t *testing.T) {
	t.Parallel()
	p := Project{Models: map[string]Model{
		"default": {Name: "big", Window: 1 << 20}, "b-tiny": {Name: "tiny", Window: 40}, "unknown": {Name: "u"},
	}}
	long := string(make([]byte, 117))
	roles := map[string]Role{
		"a": {Executor: ExecutorModel, Instruction: long, Model: "tiny"}, "b": {Executor: ExecutorModel, Instruction: long},
		"c": {Executor: ExecutorModel, Instruction: long[:116], Model: "b-tiny"},
		"d": {Executor: ExecutorModel, Instruction: long, Model: "unknown"}, "e": {Executor: ExecutorCommand, Instruction: long, Model: "tiny"},
		"f": {Executor: ExecutorModel, Instruction: long, Model: "never heard of"},
	}
	for name, role := range roles {
		role.Name = name
		problems := p.RoleProblems(&role)
		if name != "a" {
			require.Empty(t, problems, name)
			continue
		}
		require.Len(t, problems, 1)
		require.Equal(t, "instruction", problems[0].Path)
		require.Contains(t, problems[0].Message, "role a has about 30 tokens, and its model tiny takes 30")
	}
}

func TestRulesAreNumberedOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"b", "a", "c"}, Rules([]string{"b", "a"}, nil, []string{"a", "c", "c"}))
	require.Nil(t, Rules(nil, []string{}))
}

func TestEchoesOfAResult(t *testing.T) {
	t.Parallel()
	r := Result{Task: "t", Attempt: 1, Delivery: 1, Status: StatusDone, Handoff: Handoff{Constraints: []ConstraintEcho{
		{Text: "kept", Kept: true}, {Text: "broken", Note: "why"}, {Text: "broken"}, {Kept: true},
	}}}
	var paths []string
	for _, p := range r.Validate() {
		paths = append(paths, p.Path)
	}
	require.Equal(t, []string{"handoff.constraints[2].note", "handoff.constraints[3].text"}, paths)
	require.Len(t, r.Handoff.Broken(), 2)
}
