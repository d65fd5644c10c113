package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

var guarded = []string{".github/**", "**/Makefile"}

func writingRoles() map[string]spec.Role {
	return map[string]spec.Role{
		"mod": {Name: "mod", Executor: spec.ExecutorCommand}, "reader": {Name: "reader", Executor: spec.ExecutorModel},
	}
}

func expandOne(t *testing.T, task spec.Task, tree Tree) (Expansion, []spec.Problem) {
	t.Helper()
	task.ID = "t"
	x, problems, err := expand(t.Context(), spec.Plan{Tasks: []spec.Task{task}}, tree, &run.Agenda{Spec: run.Spec{Roles: writingRoles(), Project: spec.Project{Protected: guarded}}}, nil)
	require.NoError(t, err)
	return x, problems
}

func protectedTree() memTree {
	return memTree{files: map[string]string{
		"a/a.go": "old", "a/a_test.go": "old", "b/makefile": "old", ".github/ci.yml": "old",
	}, shards: []string{"a/a.go a/a_test.go .github/ci.yml", "b/makefile"}}
}

// Tests are in shards like other files; what decides about them is left out by name.
func TestShardsHaveTestsAndLeaveProtectedFilesOut(t *testing.T) {
	t.Parallel()
	for _, rule := range []spec.Shard{
		{By: "package", Match: "old", Glob: "**"}, {By: "dir"}, {By: "file", MaxFiles: 2}, {By: "command", Command: []string{"x"}},
	} {
		t.Run(rule.By, func(t *testing.T) {
			t.Parallel()
			x, problems := expandOne(t, spec.Task{Role: "mod", Shard: &rule}, protectedTree())
			require.Empty(t, problems)
			require.Len(t, x.Tasks, 1, "a shard without a file does not exist")
			require.Equal(t, []string{"a/a.go", "a/a_test.go"}, x.Tasks[0].Files)
			if rule.Match == "" && rule.Command == nil {
				require.Empty(t, x.Notes, "nothing names them")
				require.Empty(t, x.LeftOut)
				return
			}
			require.Len(t, x.Notes, 1)
			require.Contains(t, x.Notes[0], "t leaves out 2 protected files, .github/ci.yml, b/makefile: write a path into files")
			require.Empty(t, x.Tasks[0].Unlocked)
			set := x.Tasks[0].WriteSet(guarded)
			require.Empty(t, set.Refuse("a/a_test.go"))
			require.NotEmpty(t, set.Refuse(".github/ci.yml"))
		})
	}
}

func TestAShardRuleThatFindsOnlyProtectedFilesIsAProblem(t *testing.T) {
	t.Parallel()
	_, problems := expandOne(t, spec.Task{Role: "mod", Shard: &spec.Shard{By: "file", Glob: "b/**"}}, protectedTree())
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "matches only protected files, b/makefile: write them into files of a task")
	x, problems := expandOne(t, spec.Task{Role: "reader", Shard: &spec.Shard{By: "file", Glob: "b/**"}}, protectedTree())
	require.Empty(t, problems, "a role that writes nothing may read them all")
	require.Equal(t, []string{"b/makefile"}, x.Tasks[0].Files)
	require.Empty(t, x.Tasks[0].Unlocked)
}

func TestOnlyWhatTheAuthorNamesUnlocks(t *testing.T) {
	t.Parallel()
	forged := spec.Task{Role: "mod", Files: []string{"**", "b/makefile"}, Unlocked: []string{".github/**"}, ShardOf: "x", Rule: &spec.ShardRule{}}
	x, problems := expandOne(t, forged, protectedTree())
	require.Empty(t, problems)
	require.Equal(t, []string{"b/makefile"}, x.Tasks[0].Unlocked, "code sets it, whatever a plan says")
	require.Empty(t, x.Tasks[0].ShardOf)
	require.Nil(t, x.Tasks[0].Rule)
	set := x.Tasks[0].WriteSet(guarded)
	require.Empty(t, set.Refuse("b/makefile"))
	require.NotEmpty(t, set.Refuse(".github/ci.yml"), "** does not name it")
	set.Files = append(set.Files, ".github/ci.yml")
	require.NotEmpty(t, set.Refuse(".github/ci.yml"), "what is granted later unlocks nothing")
}

func TestShardsLeaveOutNamesThatNoPatchMayHold(t *testing.T) {
	t.Parallel()
	tree := memTree{files: map[string]string{"a b.txt": "", "caf\xe9.txt": "", "new\nline.txt": "", `back\slash.txt`: ""}}
	x, problems := expandOne(t, spec.Task{Role: "mod", Shard: &spec.Shard{By: "dir"}}, tree)
	require.Empty(t, problems)
	require.Equal(t, []string{"a b.txt"}, x.Tasks[0].Files)
	require.Contains(t, x.Notes[0], "3 files with names that no patch may have")
}

func TestShardsStayInOneModule(t *testing.T) {
	t.Parallel()
	tree := memTree{files: map[string]string{
		"go.mod": "", "a.go": "", "sub/b.go": "", "tools/go.mod": "", "tools/c.go": "", "tools/deep/d.go": "", "z/e.go": "",
	}}
	for _, rule := range []spec.Shard{
		{By: "package", MaxFiles: 10}, {By: "dir", MaxFiles: 10, Glob: "**/*.go"}, {By: "file", MaxFiles: 10, Glob: "**/*.go"},
	} {
		x, problems := expandOne(t, spec.Task{Role: "mod", Shard: &rule}, tree)
		require.Empty(t, problems)
		require.Len(t, x.Tasks, 2, rule.By)
		require.Equal(t, []string{"a.go", "sub/b.go", "z/e.go"}, x.Tasks[0].Files, rule.By)
		require.Equal(t, []string{"tools/c.go", "tools/deep/d.go"}, x.Tasks[1].Files, rule.By)
	}
}

func TestUngatedModulesAreNamed(t *testing.T) {
	t.Parallel()
	files := []string{"go.mod", "a.go", "tools/go.mod", "tools/t.go", "tools/gen/go.mod", "tools/gen/g.go"}
	root := spec.Gate{Name: "test", Command: []string{"go", "test", "./..."}}
	for _, tc := range []struct {
		name  string
		files []string
		role  string
		gates []spec.Gate
		want  []string
	}{
		{"the root's gate", []string{"a.go", "tools/t.go", "tools/gen/g.go"}, "mod", []spec.Gate{root}, []string{`"tools"`, `"tools/gen"`}},
		{"globs and directories", []string{"tools/*.go", "tools/gen"}, "mod", []spec.Gate{root}, []string{`"tools"`, `"tools/gen"`}},
		{"a gate with -C", []string{"tools/t.go"}, "mod", []spec.Gate{{Command: []string{"go", "-C", "tools", "test", "./..."}}}, nil},
		{"nowhere but there", []string{"a.go"}, "mod", []spec.Gate{{Command: []string{"go", "-C", "tools", "test", "./..."}}}, []string{`"."`}},
		{"a shell line", []string{"tools/t.go"}, "mod", []spec.Gate{{Command: []string{"sh", "-c", "cd ./tools&&go test ./..."}}}, nil},
		{"a name that only begins so", []string{"tools/t.go"}, "mod", []spec.Gate{{Command: []string{"sh", "-c", "cd toolsmith"}}}, []string{`"tools"`}},
		{"all modules", []string{"tools/t.go"}, "mod", []spec.Gate{{Command: []string{"find", ".", "-name", "go.mod"}}}, nil},
		{"the full form", []string{"tools/t.go"}, "mod", []spec.Gate{{
			Command: []string{"x", spec.ArgAffected}, Affected: []string{"y"}, Full: []string{"tools"},
		}}, nil},
		{"no gates at all", []string{"tools/t.go"}, "mod", nil, nil},
		{"a reader", []string{"tools/t.go"}, "reader", []spec.Gate{root}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ungated([]spec.Task{{Role: tc.role, Files: tc.files}}, writingRoles(), tc.gates, files)
			require.Len(t, got, len(tc.want))
			for i, w := range tc.want {
				require.Contains(t, got[i], "no gate runs in the Go module "+w)
			}
		})
	}
}

func TestShardTitlesNameWhatTheyContain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		by    string
		files []string
		want  string
	}{
		{"package", []string{"packages/a/x.go"}, "packages/a/x.go"},
		{"package", []string{"a/x.go", "a/y.go"}, "a, 2 files"},
		{"package", []string{"x.go", "y.go"}, "x.go and 1 more"},
		{"package", []string{"packages/a/x.go", "packages/b/x.go", "packages/b/y.go"}, "packages/a and 1 more package"},
		{"dir", []string{"p/a/x", "p/b/x", "p/c/y"}, "p/a and 2 more dirs"},
		{"file", []string{"p/a/x", "p/b/x"}, "p/a/x and 1 more"},
		{"command", []string{"p/a/x", "p/b/x"}, "p/a/x and 1 more"},
	} {
		s := sharding{rule: spec.Shard{By: tc.by}}
		require.Equal(t, tc.want, s.nameOf(tc.files))
	}
}

func TestPrintedShards(t *testing.T) {
	t.Parallel()
	all := []string{"-dash", "a", "a b", "b", "dir/c"}
	for _, tc := range []struct {
		name    string
		lines   []string
		want    [][]string
		problem string
	}{
		{"lines", []string{"a b", "", "  ", "a dir/c\r", "b\t-dash"}, [][]string{{"a b"}, {"a", "dir/c"}, {"b", "-dash"}}, ""},
		{"nothing", []string{"", " "}, nil, "printed no files"},
		{"outside", []string{"../a"}, nil, `printed "../a", which is not a file`},
		{"absolute", []string{"/etc/passwd"}, nil, "which is not a file"},
		{"not plain", []string{"./a"}, nil, "which is not a file"},
		{"a directory", []string{"dir"}, nil, "which is not a file"},
		{"a zero byte", []string{"a\x00b"}, nil, `printed "a\x00b"`},
		{"no UTF-8", []string{"caf\xe9"}, nil, "which is not a file"},
		{"twice", []string{"a b", "a", "b a"}, nil, `printed "a" twice`},
		{"long", []string{strings.Repeat("x", 1<<20)}, nil, "…"},
	} {
		got, _, problem := printedShards(tc.lines, all, nil)
		require.Equal(t, tc.want, got, tc.name)
		require.Contains(t, problem, tc.problem, tc.name)
		require.Less(t, len(problem), 1000, tc.name)
	}
	var many []string
	for i := range maxPrinted + 1 {
		many = append(many, fmt.Sprintf("f%06d", i))
	}
	_, _, problem := printedShards(many, many, nil)
	require.Contains(t, problem, "more than 10000 shards")
}

// Whatever a command prints, what is made of it are files of the commit, each once.
func FuzzPrintedShards(f *testing.F) {
	for _, seed := range []string{
		"a b\nb", "/etc/passwd", "../a", "a\x00b", "caf\xe9", "a\na", "a b\tdir/c", "dir", "\x00", "a\r\nb\r\n", "-dash", ".git/config",
	} {
		f.Add(seed)
	}
	all := []string{"-dash", "a", "a b", "b", "caf\xe9", "dir/c", "new\nline"}
	f.Fuzz(func(t *testing.T, printed string) {
		groups, _, problem := printedShards(strings.Split(printed, "\n"), all, nil)
		require.Equal(t, problem == "", len(groups) > 0)
		require.Less(t, len(problem), 2000)
		seen := map[string]bool{}
		for _, g := range groups {
			require.NotEmpty(t, g)
			for _, file := range g {
				require.True(t, isOneOf(all, file), file)
				require.False(t, seen[file], file)
				seen[file] = true
			}
		}
		rule := spec.Shard{By: "command", Command: []string{"x"}}
		s := sharding{rule: rule}
		tree := memTree{files: map[string]string{}, shards: strings.Split(printed, "\n")}
		for _, file := range all {
			tree.files[file] = ""
		}
		if problem, err := s.run(t.Context(), tree); err != nil || problem != "" {
			return
		}
		for _, file := range slices.Concat(s.groups...) {
			require.Empty(t, spec.WriteSet{}.Refuse(file), "a shard names only what a patch may hold")
		}
	})
}

func TestMatchLeavesOutWhatIsTooLargeToSearch(t *testing.T) {
	t.Parallel()
	tree := memTree{files: map[string]string{"a.txt": "old", "b.txt": "new", "data.bin": ""}, large: map[string]int64{"data.bin": 513 << 20}}
	x, problems := expandOne(t, spec.Task{ID: "t", Role: "mod", Shard: &spec.Shard{By: "file", Match: "old"}}, tree)
	require.Empty(t, problems)
	require.Len(t, x.Tasks, 1)
	require.Equal(t, []string{"a.txt"}, x.Tasks[0].Files)
	require.Contains(t, x.Notes, `t leaves out 1 file of more than 512 MiB, which match does not search, such as "data.bin"`)
}
