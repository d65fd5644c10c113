package plan

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"divisi/internal/spec"
	"divisi/internal/textfile"
	"divisi/orchestrator/run"
)

// memTree is a commit in memory.
type memTree struct {
	files  map[string]string
	links  []string
	shards []string
	large  map[string]int64 // sizes of files whose content is not here
}

func (m memTree) Files(context.Context) ([]string, error) {
	var out []string
	for f := range m.files {
		out = append(out, f)
	}
	slices.Sort(out)
	return out, nil
}

func (m memTree) Links(context.Context) ([]string, error) { return m.links, nil }

func (m memTree) Match(_ context.Context, p *textfile.Pattern, files []string) (map[string]int, []string, error) {
	out := map[string]int{}
	var binaries []string
	for _, f := range files {
		if m.large[f] > 0 {
			return nil, nil, fmt.Errorf("read %s: too large", f) // as git has it
		}
		lines, binary := p.Lines([]byte(m.files[f]), -1)
		if len(lines) == 0 {
			continue
		}
		if out[f] = len(lines); binary {
			binaries = append(binaries, f)
		}
	}
	return out, binaries, nil
}

func (m memTree) Sizes(context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for f, content := range m.files {
		out[f] = max(int64(len(content)), m.large[f])
	}
	return out, nil
}

func (m memTree) Read(_ context.Context, file string) ([]byte, error) {
	return []byte(m.files[file]), nil
}

func (m memTree) Shards(context.Context, []string) ([]string, error) { return m.shards, nil }

func sampleTree() memTree {
	return memTree{files: map[string]string{
		"a/a.go": "old", "a/b.go": "old", "a/c.txt": "old", "b/x.go": "new", "b/y.go": "old", "c/d/z.go": "old", "main.go": "old",
	}, shards: []string{"a/a.go b/x.go", "main.go"}}
}

func TestExpandByRule(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		rule spec.Shard
		want [][]string
	}{
		{"file", spec.Shard{By: "file", Glob: "**/*.go", Match: "old"}, [][]string{{"a/a.go"}, {"a/b.go"}, {"b/y.go"}, {"c/d/z.go"}, {"main.go"}}},
		{"files in twos", spec.Shard{By: "file", Glob: "**/*.go", Match: "old", MaxFiles: 2}, [][]string{{"a/a.go", "a/b.go"}, {"b/y.go", "c/d/z.go"}, {"main.go"}}},
		{"dir", spec.Shard{By: "dir", Match: "old"}, [][]string{{"main.go"}, {"a/a.go", "a/b.go", "a/c.txt"}, {"b/y.go"}, {"c/d/z.go"}}},
		{"a large dir is cut", spec.Shard{By: "dir", Glob: "a/**", MaxFiles: 2}, [][]string{{"a/a.go", "a/b.go"}, {"a/c.txt"}}},
		{"package has Go files only", spec.Shard{By: "package", Match: "old"}, [][]string{{"main.go"}, {"a/a.go", "a/b.go"}, {"b/y.go"}, {"c/d/z.go"}}},
		{"a package is never cut", spec.Shard{By: "package", Glob: "a/*.go", MaxFiles: 1}, [][]string{{"a/a.go", "a/b.go"}}},
		{"small packages are joined", spec.Shard{By: "package", MaxFiles: 3, Match: "old"}, [][]string{{"main.go", "a/a.go", "a/b.go"}, {"b/y.go", "c/d/z.go"}}},
		{"command", spec.Shard{By: "command", Command: []string{"x"}}, [][]string{{"a/a.go", "b/x.go"}, {"main.go"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			x, problems, err := expand(t.Context(), spec.Plan{Tasks: []spec.Task{{ID: "t", Shard: &tc.rule}}}, sampleTree(), &run.Agenda{}, nil)
			require.NoError(t, err)
			require.Empty(t, problems)
			var got [][]string
			for i, s := range x.Tasks {
				require.Equal(t, spec.ShardID("t", i+1), s.ID)
				require.Equal(t, "t", s.ShardOf)
				got = append(got, s.Files)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestExpandTellsEveryShardThatMatchesNothing(t *testing.T) {
	t.Parallel()
	_, problems, err := expand(t.Context(), spec.Plan{Tasks: []spec.Task{
		{ID: "a", Shard: &spec.Shard{By: "file", Glob: "*.rs"}},
		{ID: "b", Shard: &spec.Shard{By: "file", Match: "nowhere"}},
		{ID: "c", Shard: &spec.Shard{By: "file", Match: "^nowhere"}},
	}}, sampleTree(), &run.Agenda{}, nil)
	require.NoError(t, err)
	require.Len(t, problems, 3)
	require.NotContains(t, problems[1].Message, "(?m)")
	require.Contains(t, problems[2].Message, "after (?m)")
	require.Equal(t, "tasks[1].shard", problems[1].Path)
	require.Contains(t, problems[1].Message, "matches none of 7 files")
	require.Equal(t, []bool{false, true, false}, []bool{problems[0].Done, problems[1].Done, problems[2].Done})

	tree := sampleTree()
	tree.large = map[string]int64{"a/a.go": maxMatched + 1}
	_, problems, err = expand(t.Context(), spec.Plan{Tasks: []spec.Task{{ID: "b", Shard: &spec.Shard{By: "file", Match: "nowhere"}}}}, tree, &run.Agenda{}, nil)
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.False(t, problems[0].Done, "a file was not searched")
}

// A rule that finds something where no shard may be names it.
func TestExpandNamesBinariesAndLinks(t *testing.T) {
	t.Parallel()
	tree := sampleTree()
	tree.files["a/data.bin"] = "\x00\x01old"
	tree.links = []string{"a/link.go", "z/link.go"}
	notes := func(rule spec.Shard) ([]string, []spec.Problem) {
		x, problems, err := expand(t.Context(), spec.Plan{Tasks: []spec.Task{{ID: "t", Shard: &rule}}}, tree, &run.Agenda{}, nil)
		require.NoError(t, err)
		for _, task := range x.Tasks {
			require.NotContains(t, task.Files, "a/link.go")
		}
		return x.Notes, problems
	}
	const binary = "t has 1 binary file where match finds something: a/data.bin"
	got, _ := notes(spec.Shard{By: "file", Match: "old"})
	require.Len(t, got, 1, "a search of all files means no link")
	require.Contains(t, got[0], binary)
	got, _ = notes(spec.Shard{By: "file", Match: "old", Glob: "a/*"})
	require.Contains(t, got[0], binary)
	require.Contains(t, got[1], "t leaves out 1 symbolic link, a/link.go: a shard has what it leads to")
	got, _ = notes(spec.Shard{By: "package"})
	require.Contains(t, got[0], "2 symbolic links, a/link.go, z/link.go")
	got, problems := notes(spec.Shard{By: "file", Match: "old", Glob: "**/*.bin"})
	require.Empty(t, problems)
	require.Equal(t, []string{binary}, got)

	command := spec.Shard{By: "command", Command: []string{"x"}}
	tree.shards = []string{"a/a.go a/link.go", "z/link.go"}
	got, problems = notes(command)
	require.Empty(t, problems)
	require.Contains(t, got[0], "2 symbolic links, a/link.go, z/link.go")
	tree.shards = []string{"z/link.go"}
	_, problems = notes(command)
	require.Contains(t, problems[0].Message, "printed symbolic links alone, such as z/link.go")
}

func TestExpandRefusesFilesThatACommandMadeUp(t *testing.T) {
	t.Parallel()
	tree := sampleTree()
	tree.shards = []string{"../etc/passwd"}
	_, problems, err := expand(t.Context(), spec.Plan{Tasks: []spec.Task{{ID: "a", Shard: &spec.Shard{By: "command", Command: []string{"x"}}}}}, tree, &run.Agenda{}, nil)
	require.NoError(t, err)
	require.Len(t, problems, 1)
}

func TestExpandKeepsTemplatesInDependencies(t *testing.T) {
	t.Parallel()
	x, _, err := expand(t.Context(), spec.Plan{Constraints: []string{"all"}, Tasks: []spec.Task{
		{ID: "m", Shard: &spec.Shard{By: "dir", Glob: "a/*.go"}, Constraints: []string{"own"}},
		{ID: "after", DependsOn: []string{"m"}, Inputs: []string{"m/notes"}},
	}}, sampleTree(), &run.Agenda{}, nil)
	require.NoError(t, err)
	tasks := x.Tasks
	require.Equal(t, []string{"m"}, tasks[1].DependsOn)
	require.Equal(t, []string{"m/notes"}, tasks[1].Inputs)
	require.Equal(t, []string{"all", "own"}, tasks[0].Constraints)
}

// Whatever the rule, every matching file is in exactly one shard.
func TestExpandLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		tree := memTree{files: map[string]string{}}
		for _, f := range rapid.SliceOfDistinct(rapid.StringMatching(`([a-c]/){0,3}[a-z]{1,3}\.go`), rapid.ID).Draw(rt, "files") {
			tree.files[f] = strings.Repeat("x", rapid.IntRange(0, 20).Draw(rt, "size"))
		}
		tree.files["CODEOWNERS"] = "*.go @a\n/a/ @b\nb @c\n"
		rule := spec.Shard{
			By:       rapid.SampledFrom([]string{"file", "dir", "package", "owner"}).Draw(rt, "by"),
			MaxFiles: rapid.IntRange(0, 5).Draw(rt, "max"), MaxTokens: rapid.IntRange(0, 6).Draw(rt, "tokens"),
		}
		for _, dir := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"", "a/", "a/b/", "c/"}), rapid.ID).Draw(rt, "modules") {
			tree.files[dir+"go.mod"] = "module x"
		}
		x, problems, err := expand(t.Context(), spec.Plan{Tasks: []spec.Task{{ID: "t", Shard: &rule}}}, tree, &run.Agenda{}, nil)
		require.NoError(rt, err)
		files, err := tree.Files(t.Context())
		require.NoError(rt, err)
		want := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return rule.By == "package" && path.Ext(f) != ".go" })
		if len(want) == 0 {
			require.Len(rt, problems, 1)
			return
		}
		var all []string
		for _, s := range x.Tasks {
			require.NotEmpty(rt, s.Files)
			require.Len(rt, newModules(files, "go.mod").split(s.Files), 1, "a shard stays in one module")
			if rule.MaxFiles > 0 && rule.By != "package" {
				require.LessOrEqual(rt, len(s.Files), rule.MaxFiles)
			}
			if rule.MaxTokens > 0 && rule.By != "package" && len(s.Files) > 1 {
				content := ""
				for _, f := range s.Files {
					content += tree.files[f]
				}
				require.LessOrEqual(rt, len(content)/4, rule.MaxTokens)
			}
			all = append(all, s.Files...)
		}
		slices.Sort(all)
		require.Equal(rt, want, all)
	})
}
