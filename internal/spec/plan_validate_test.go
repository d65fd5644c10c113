package spec

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func testEnv() Env {
	return Env{
		Roles: map[string]Role{
			RoleMaster: {Name: RoleMaster, Executor: ExecutorModel}, RoleReader: {Name: RoleReader, Executor: ExecutorModel},
			RoleGenerator: {Name: RoleGenerator, Executor: ExecutorModel, Writes: true}, RoleTester: {Name: RoleTester},
			"codemod": {Name: "codemod", Executor: ExecutorCommand, Writes: true},
		},
		Gates: []string{"build", "test"},
	}
}

func task(id string, change func(*Task)) Task {
	t := Task{ID: id, Role: RoleGenerator, Brief: "do it"}
	if change != nil {
		change(&t)
	}
	return t
}

// said lists the problems as lines.
func said(list []Problem) string {
	var lines []string
	for _, p := range list {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func TestPlanThatIsRight(t *testing.T) {
	t.Parallel()
	plan := Plan{Goal: "g", Constraints: []string{"c"}, Tasks: []Task{
		task("survey", func(t *Task) { t.Role = RoleReader }),
		task("api", func(t *Task) {
			t.DependsOn, t.Files, t.Gates = []string{"survey"}, []string{"api/**", "app/[id]/p.tsx"}, []string{"build"}
		}),
		task("move", func(t *Task) {
			t.Inputs = []string{"api/names", "survey"}
			t.Shard = &Shard{By: "file", Match: `old\.`, Glob: "**/*.go", MaxFiles: 5}
		}),
		task("mod", func(t *Task) { t.Role, t.Command = "codemod", []string{"gofmt", "-w", "."} }),
		task("late", func(t *Task) { t.DependsOn, t.Verify, t.Attempts = []string{"move", "earlier"}, RoleTester, 10 }),
	}}
	env := testEnv()
	env.Tasks = []Task{{ID: "earlier"}}
	require.Empty(t, plan.Validate(env), said(plan.Validate(env)))
}

func TestPlanFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Task)
		want   string
	}{
		{"no id", func(t *Task) { t.ID = "" }, `tasks[1].id: the task has no id`},
		{
			"bad id", func(t *Task) { t.ID = "a b/c" },
			`tasks[1].id: task id "a b/c": an id is 1 to 64 letters, digits, - and _, ` +
				`and begins with a letter or digit (did you mean "a-b-c"?)`,
		},
		{"long id", func(t *Task) { t.ID = strings.Repeat("x", 65) }, `an id is 1 to 64`},
		{
			"reserved id", func(t *Task) { t.ID = "a--verify" },
			`-- is kept for tasks that Divisi adds itself (did you mean "a-verify"?)`,
		},
		{"same id", func(t *Task) { t.ID = "first" }, `task id "first" is taken by tasks[0]`},
		{"id of the run", func(t *Task) { t.ID = "earlier" }, `the run has such a task already`},
		{"id of a shard", func(t *Task) { t.ID = "many-001" }, `is one that the shards of template "many" get`},
		{
			"template id too long", func(t *Task) { t.ID, t.Shard = strings.Repeat("x", 60), &Shard{By: "file"} },
			`too long for a template`,
		},
		{
			"files of a template", func(t *Task) { t.Files, t.Shard = []string{"src/*.go"}, &Shard{By: "file"} },
			`tasks[1].files: the shard rule says which files each task has: write glob: "src/*.go" in shard instead of files`,
		},
		{
			"files beside a command",
			func(t *Task) { t.Files, t.Shard = []string{"a.go"}, &Shard{By: "command", Command: []string{"ls"}} },
			`tasks[1].files: the command of the shard rule prints which files each task has: leave files out`,
		},
		{
			"more files of a template", func(t *Task) { t.Files, t.Shard = []string{"a.go", "b.go"}, &Shard{By: "file"} },
			`tasks[1].files: the shard rule says which files each task has: write a glob in shard instead of files, or one task`,
		},
		{"canary of a task", func(t *Task) { t.Canary = 2 }, `tasks[1].canary: canary belongs to a task with a shard rule`},
		{
			"canary of a set", func(t *Task) { t.Canary, t.Shard, t.Together = 2, &Shard{By: "file"}, true },
			`tasks[1].canary: the shards of a change set pass together`,
		},
		{
			"canary of commands", func(t *Task) { t.Canary, t.Shard, t.Role = 2, &Shard{By: "file"}, "codemod" },
			`tasks[1].canary: canary bounds the attempts of models and coding agents, and role "codemod" is neither`,
		},
		{"canary below 1", func(t *Task) { t.Canary, t.Shard = -1, &Shard{By: "file"} }, `tasks[1].canary: `},
		{"no role", func(t *Task) { t.Role = "" }, `has no role; there are codemod, generator, master, reader, tester`},
		{
			"unknown role", func(t *Task) { t.Role = "genrator" },
			`tasks[1].role: there is no role "genrator"; there are codemod, generator, master, ` +
				`reader, tester (did you mean "generator"?)`,
		},
		{"master", func(t *Task) { t.Role = RoleMaster }, `the master plans and is not planned`},
		{"tester", func(t *Task) { t.Role = RoleTester }, `name it in verify`},
		{"no brief", func(t *Task) { t.Brief = " \n" }, `tasks[1].brief: task "second" has no brief`},
		{"long brief", func(t *Task) { t.Brief = strings.Repeat("x", maxBrief+1) }, `more than 65536`},
		{"nul", func(t *Task) { t.Title = "\x00" }, `tasks[1].title: the text contains a NUL`},
		{
			"empty constraint", func(t *Task) { t.Constraints = []string{"a", ""} },
			`tasks[1].constraints[1]: the constraint is empty`,
		},
		{
			"absolute", func(t *Task) { t.Files = []string{"a", "/etc"} },
			`tasks[1].files[1]: "/etc": the path is not relative`,
		},
		{"parent", func(t *Task) { t.Files = []string{"a/../../b"} }, `leaves the repository`},
		{"parent in braces", func(t *Task) { t.Files = []string{"{a,..}/b"} }, `leaves the repository`},
		{"git", func(t *Task) { t.Files = []string{"a/.GIT/hooks"} }, `reaches into .git`},
		{"git with dot", func(t *Task) { t.Files = []string{".git./x"} }, `reaches into .git`},
		{"short git", func(t *Task) { t.Files = []string{"GIT~1/x"} }, `reaches into .git`},
		{"nul in path", func(t *Task) { t.Files = []string{"a\x00"} }, `control character`},
		{"backslash", func(t *Task) { t.Files = []string{`a\..\b`} }, `backslash`},
		{"drive", func(t *Task) { t.Files = []string{`c:x`} }, `drive`},
		{"bad glob", func(t *Task) { t.Files = []string{"a[b"} }, `malformed`},
		{"directory", func(t *Task) { t.Files = []string{"a/"} }, `(did you mean "a/**"?)`},
		{"not plain", func(t *Task) { t.Files = []string{"./a//b"} }, `(did you mean "a/b"?)`},
		{"top", func(t *Task) { t.Files = []string{"."} }, `(did you mean "**"?)`},
		{"empty path", func(t *Task) { t.Files = []string{""} }, `the path is empty`},
		{"files of a reader", func(t *Task) { t.Role, t.Files = RoleReader, []string{"a"} }, `role "reader" writes nothing`},
		{
			"unknown dependency", func(t *Task) { t.DependsOn = []string{"frist"} },
			`tasks[1].depends_on[0]: there is no task "frist"; there are earlier, first, many, second (did you mean "first"?)`,
		},
		{"unknown input", func(t *Task) { t.Inputs = []string{"frist/x"} }, `tasks[1].inputs[0]: there is no task "frist"`},
		{
			"input without artifact", func(t *Task) { t.Inputs = []string{"first/"} },
			`has a / but no artifact (did you mean "first"?)`,
		},
		{"itself", func(t *Task) { t.DependsOn = []string{"second"} }, `task "second" waits for itself`},
		{"include", func(t *Task) { t.IncludeContents = "ful" }, `include_contents "ful" is not one of none, full`},
		{"last", func(t *Task) { t.Last = -1 }, `tasks[1].last: -1 is below 0`},
		{"last with none", func(t *Task) { t.Last, t.IncludeContents = 1, IncludeNone }, `last has no effect`},
		{"last with the role's none", func(t *Task) { t.Last, t.IncludeContents = 1, "" }, `last has no effect with include_contents none`},
		{"tokens with none", func(t *Task) { t.MaxTokens, t.IncludeContents = 1, IncludeNone }, `max_tokens has no effect`},
		{
			"gate", func(t *Task) { t.Gates = []string{"tests"} },
			`there is no gate "tests"; there are build, test (did you mean "test"?)`,
		},
		{"mends", func(t *Task) { t.Mends = []string{"tests"} }, `tasks[1].mends[0]: there is no gate "tests"; there are build, test`},
		{
			"mends what it does not run", func(t *Task) { t.Gates, t.Mends = []string{"test"}, []string{"build"} },
			`tasks[1].mends[0]: task "second" mends gate build and does not run it: add it to gates`,
		},
		{"verify unknown", func(t *Task) { t.Verify = "testr" }, `(did you mean "tester"?)`},
		{"verify writes", func(t *Task) { t.Verify = RoleGenerator }, `cannot verify`},
		{"attempts", func(t *Task) { t.Attempts = 11 }, `not between 1 and 10`},
		{
			"limits", func(t *Task) { t.Limits = Limits{Turns: -1, Tokens: -1, Time: Duration(-time.Second)} },
			"tasks[1].limits.turns: -1 is below 0\ntasks[1].limits.tokens: -1 is below 0\ntasks[1].limits.time: -1s is negative",
		},
		{"shard empty", func(t *Task) { t.Shard = &Shard{} }, `the shard rule has no by`},
		{
			"shard by", func(t *Task) { t.Shard = &Shard{By: "team"} },
			`by "team" is not one of file, dir, package, owner, command`,
		},
		{
			"shard match", func(t *Task) { t.Shard = &Shard{By: "file", Match: "("} },
			`tasks[1].shard.match: match is not an RE2`,
		},
		{"shard glob", func(t *Task) { t.Shard = &Shard{By: "file", Glob: "{a"} }, `malformed`},
		{"shard glob out", func(t *Task) { t.Shard = &Shard{By: "file", Glob: "../*"} }, `leaves the repository`},
		{"shard max", func(t *Task) { t.Shard = &Shard{By: "file", MaxFiles: -1} }, `tasks[1].shard.max_files: -1`},
		{"shard no command", func(t *Task) { t.Shard = &Shard{By: "command"} }, `needs a command`},
		{
			"shard command", func(t *Task) { t.Shard = &Shard{By: "dir", Command: []string{""}} },
			"command belongs to a shard rule by command, not by dir\ntasks[1].shard.command[0]: the program's name is empty",
		},
		{"command", func(t *Task) { t.Command = []string{"x"} }, `runs no command`},
		{"no command", func(t *Task) { t.Role = "codemod" }, `runs a command: say which`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := testEnv()
			env.Tasks = []Task{{ID: "earlier"}}
			plan := Plan{Tasks: []Task{
				task("first", nil), task("second", c.change), task("many", func(t *Task) { t.Shard = &Shard{By: "file"} }),
			}}
			require.Contains(t, said(plan.Validate(env)), c.want)
		})
	}
}

func TestPlanNamesAllFaultsAndCircles(t *testing.T) {
	t.Parallel()
	plan := Plan{Tasks: []Task{
		task("a", func(t *Task) { t.DependsOn = []string{"c"} }), task("b", func(t *Task) { t.Inputs = []string{"a/x"} }),
		task("c", func(t *Task) { t.DependsOn = []string{"b"} }), task("d", func(t *Task) { t.Role, t.Attempts = "x", -1 }),
	}}
	list := plan.Validate(testEnv())
	require.Len(t, list, 3)
	require.Equal(t, Problem{
		Path: "tasks[0].depends_on", Message: "the tasks wait for each other in a circle: a -> c -> b -> a",
	}, list[2])

	require.Contains(t, said((&Plan{}).Validate(Env{})), "the plan has no tasks")
	many := Plan{Tasks: make([]Task, maxTasks+1)}
	require.Contains(t, said(many.Validate(Env{})), "use a task with a shard rule")
	open := Plan{Tasks: []Task{task("a", func(t *Task) { t.Gates = []string{"unknown"} })}}
	env := testEnv()
	env.Gates = nil
	require.Empty(t, open.Validate(env), "gates that are not known yet are not checked")
}

func TestLongChainValidates(t *testing.T) {
	t.Parallel()
	plan := Plan{}
	for i := range maxTasks {
		plan.Tasks = append(plan.Tasks, task(fmt.Sprintf("t%d", i), func(t *Task) {
			if i > 0 {
				t.DependsOn = []string{fmt.Sprintf("t%d", i-1)}
			}
		}))
	}
	require.Empty(t, plan.Validate(testEnv()))
}

func TestWithDefaults(t *testing.T) {
	t.Parallel()
	role := Role{IncludeContents: IncludeFull, Command: []string{"x"}, Limits: Limits{Turns: 5, Time: Duration(time.Minute)}}
	got := Task{ID: "a", DependsOn: []string{"b"}, Limits: Limits{Turns: 7}}.WithDefaults(role)
	require.Equal(t, Task{
		ID: "a", DependsOn: []string{"b"}, Inputs: []string{"b"}, Attempts: 5, IncludeContents: IncludeFull,
		Command: []string{"x"}, Limits: Limits{Turns: 7, Time: Duration(time.Minute)},
	}, got)
	require.Equal(t, got, got.WithDefaults(Role{}))
	require.Equal(t, IncludeNone, Task{}.WithDefaults(Role{}).IncludeContents)
	require.Equal(t, []string{}, Task{DependsOn: []string{"b"}, Inputs: []string{}}.WithDefaults(Role{}).Inputs)
	require.Equal(t, "move-007", ShardID("move", 7))
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	tk := Task{DependsOn: []string{"a", "b", "a"}, Inputs: []string{"b/x", "c", "c/y"}}
	require.Equal(t, []string{"a", "b", "c"}, tk.Dependencies())
}

func TestARolesSecretsAreForItsOwnCommandAlone(t *testing.T) {
	t.Parallel()
	p := Plan{Tasks: []Task{{ID: "a", Role: "wrap", Brief: "b", Command: []string{"sh", "-c", "echo $TOKEN"}}}}
	role := Role{Name: "wrap", Executor: ExecutorCommand, Command: []string{"agent"}, Writes: true, Secrets: []string{"TOKEN"}}
	problems := p.Validate(Env{Roles: map[string]Role{"wrap": role, "tester": {Name: "tester"}}})
	require.Len(t, problems, 1, "%v", problems)
	require.Contains(t, problems[0].String(), "which are for its own command alone")
}

func TestTheJudgeOfATask(t *testing.T) {
	t.Parallel()
	model, command := Role{Executor: ExecutorModel, Writes: true}, Role{Executor: ExecutorCommand, Writes: true}
	builtIn := map[string]Role{RoleTester: {}, RoleReviewer: {Executor: ExecutorModel}, "own": {Executor: ExecutorModel}}
	own := map[string]Role{RoleTester: {Executor: ExecutorModel}, RoleReviewer: {Executor: ExecutorModel}}
	for name, c := range map[string]struct {
		verify      string
		role        Role
		roles       map[string]Role
		constrained bool
		want        string
	}{
		"no constraint":                 {"", model, builtIn, false, ""},
		"a constraint":                  {"", model, builtIn, true, RoleReviewer},
		"of a command":                  {"", command, builtIn, true, ""},
		"of a reader":                   {"", Role{Executor: ExecutorModel}, builtIn, true, ""},
		"a tester with a model judges":  {"", command, own, false, RoleTester},
		"and what has constraints too":  {"", model, own, true, RoleTester},
		"a named judge":                 {"own", model, builtIn, true, "own"},
		"the reviewer by name":          {RoleReviewer, command, builtIn, false, RoleReviewer},
		"the gates alone by name":       {RoleTester, model, builtIn, true, ""},
		"a reviewer that the run lacks": {"", model, map[string]Role{RoleTester: {}}, true, ""},
	} {
		require.Equal(t, c.want, (&Task{Verify: c.verify}).Judge(c.role, c.roles, c.constrained), name)
	}
}

func TestRenewed(t *testing.T) {
	t.Parallel()
	had := Role{Command: []string{"old"}, Limits: Limits{Turns: 5, Time: Duration(time.Minute)}}
	now := Role{Command: []string{"new"}, Limits: Limits{Turns: 9, Tokens: 100, Time: Duration(time.Hour)}}
	filled := Task{ID: "a", Limits: Limits{Time: Duration(time.Second)}}.WithDefaults(had)
	got := filled.Renewed(had, now)
	require.Equal(t, []string{"new"}, got.Command)
	require.Equal(t, Limits{Turns: 9, Tokens: 100, Time: Duration(time.Second)}, got.Limits, "a limit of its own stays")
	own := Task{ID: "b", Command: []string{"mine"}}.WithDefaults(had)
	require.Equal(t, []string{"mine"}, own.Renewed(had, now).Command)
}
