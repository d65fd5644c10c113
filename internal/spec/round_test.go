package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func rounds(change func(*Task)) Task {
	return task("fix", func(t *Task) {
		t.Shard, t.Mends = &Shard{By: ByFinding, Group: "symbol", Rounds: 3, Glob: "**/*.go", MaxFiles: 2}, []string{"build"}
		t.Fixers = []Fixer{{Role: "codemod", Command: []string{"gofmt", "-w", "."}, Whole: true}, {}}
		if change != nil {
			change(t)
		}
	})
}

func TestATemplateByFindingIsChecked(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Task){
		"": nil,
		`tasks[0].mends: a shard rule by finding takes its shards from what one gate finds: name it in mends, not 0`: func(t *Task) {
			t.Mends = nil
		},
		`name it in mends, not 2`: func(t *Task) { t.Mends = []string{"build", "test"} },
		`tasks[0].role: the shards of a rule by finding fix findings, and role "reader" writes no files`: func(t *Task) {
			t.Role, t.Fixers = RoleReader, nil
		},
		`tasks[0].shard.match: the findings of the gate select the files`: func(t *Task) { t.Shard.Match = "x" },
		`tasks[0].shard.max_tokens: max_tokens has no effect`:             func(t *Task) { t.Shard.MaxTokens = 1 },
		`tasks[0].change_set: the tasks of a round are tested together`:   func(t *Task) { t.Together = true },
		`tasks[0].canary: the tasks of a round are tested together`:       func(t *Task) { t.Canary = 2 },
		`tasks[0].shard.rounds: -1 is below 0`:                            func(t *Task) { t.Shard.Rounds = -1 },
		`group "line" is not one of file, package, symbol, code, owner`:   func(t *Task) { t.Shard.Group = "line" },
		`tasks[0].fixers[1].role: there is no role "genrator"`:            func(t *Task) { t.Fixers[1].Role = "genrator" },
		`tasks[0].fixers[1].role: a fixer changes files, and role "reader" writes none`: func(t *Task) {
			t.Fixers[1].Role = RoleReader
		},
		`tasks[0].fixers[1].command: role "generator" runs no command`: func(t *Task) { t.Fixers[1].Command = []string{"x"} },
		`tasks[0].fixers[0].command: role "codemod" runs a command: say which`: func(t *Task) {
			t.Fixers[0].Command = nil
		},
		`tasks[0].fixers[0].command: a fixer with whole: true has no files`: func(t *Task) {
			t.Fixers[0].Command = []string{"x", ArgFiles}
		},
		`tasks[0].fixers: fixers belongs to a task with shard: {by: finding}`: func(t *Task) { t.Shard = nil },
		`tasks[0].shard.rounds: rounds belongs to`:                            func(t *Task) { t.Shard.By = "file" },
		`tasks[0].shard.group: group belongs to`:                              func(t *Task) { t.Shard.By = "file" },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			plan := Plan{Tasks: []Task{rounds(change)}}
			if list := plan.Validate(testEnv()); want == "" {
				require.Empty(t, list, said(list))
			} else {
				require.Contains(t, said(list), want)
			}
		})
	}
	plan := Plan{Mends: []string{"test"}, Tasks: []Task{rounds(func(t *Task) { t.Mends = nil })}}
	require.Empty(t, plan.Validate(testEnv()), "the plan's gate counts")
}

func TestWaysOfATemplate(t *testing.T) {
	t.Parallel()
	with, without := rounds(nil), rounds(func(t *Task) { t.Role, t.Command, t.Fixers = "codemod", []string{"x"}, nil })
	require.Equal(t, []Fixer{
		{Role: "codemod", Command: []string{"gofmt", "-w", "."}, Whole: true}, {Role: RoleGenerator},
	}, with.Ways())
	require.Equal(t, []Fixer{{Role: "codemod", Command: []string{"x"}}}, without.Ways())
}
