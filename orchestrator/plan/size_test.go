package plan

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func filesOf(x Expansion) (out [][]string) {
	for _, t := range x.Tasks {
		out = append(out, t.Files)
	}
	return out
}

func TestTokensOfAShard(t *testing.T) {
	t.Parallel()
	tree := memTree{files: map[string]string{"CODEOWNERS": "* @a"}, shards: []string{"a/1.go a/2.go b/4.go"}}
	for name, tokens := range map[string]int{"a/1.go": 10, "a/2.go": 30, "a/3.go": 1, "b/4.go": 9, "c/5.go": 500, "d/6.go": 20} {
		tree.files[name] = strings.Repeat("x", 4*tokens)
	}
	for _, tc := range []struct {
		name string
		rule spec.Shard
		want [][]string
	}{
		{"file", spec.Shard{By: "file", MaxTokens: 40}, [][]string{{"a/1.go", "a/2.go"}, {"a/3.go", "b/4.go"}, {"c/5.go"}, {"d/6.go"}}},
		{"both bounds", spec.Shard{By: "file", MaxTokens: 40, MaxFiles: 1}, [][]string{{"a/1.go"}, {"a/2.go"}, {"a/3.go"}, {"b/4.go"}, {"c/5.go"}, {"d/6.go"}}},
		{"a directory is cut", spec.Shard{By: "dir", MaxTokens: 40}, [][]string{{"a/1.go", "a/2.go"}, {"a/3.go", "b/4.go"}, {"c/5.go"}, {"d/6.go"}}},
		{"a package is whole", spec.Shard{By: "package", MaxTokens: 40}, [][]string{{"a/1.go", "a/2.go", "a/3.go"}, {"b/4.go"}, {"c/5.go"}, {"d/6.go"}}},
		{"owner", spec.Shard{By: "owner", MaxTokens: 50}, [][]string{{"a/1.go", "a/2.go", "a/3.go", "b/4.go"}, {"c/5.go"}, {"d/6.go"}}},
		{"a line", spec.Shard{By: "command", Command: []string{"x"}, MaxTokens: 39}, [][]string{{"a/1.go"}, {"a/2.go", "b/4.go"}}},
		{"no overflow", spec.Shard{By: "file", MaxTokens: math.MaxInt}, [][]string{{"a/1.go", "a/2.go", "a/3.go", "b/4.go", "c/5.go", "d/6.go"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.rule.By != "command" {
				tc.rule.Glob = "*/*.go"
			}
			x, problems := expandOne(t, spec.Task{Role: "mod", Shard: &tc.rule}, tree)
			require.Empty(t, problems)
			require.Equal(t, tc.want, filesOf(x))
			require.Empty(t, x.Notes, "the rule set the size")
		})
	}
}

func TestSizesThatTheRuleLeavesOpen(t *testing.T) {
	t.Parallel()
	tree := func(dirs, each int) memTree {
		m := memTree{files: map[string]string{"CODEOWNERS": "/d0* @a\n"}}
		for d := range dirs {
			for f := range each {
				m.files[fmt.Sprintf("d%04d/f%04d.go", d, f)] = ""
			}
		}
		return m
	}
	for _, tc := range []struct {
		by          string
		dirs, each  int
		tasks, most int
		noted       bool
	}{
		{"file", 1, 256, 256, 1, false},
		{"file", 1, 257, 129, 2, true},
		{"file", 50, 200, 250, 40, true},
		{"dir", 256, 3, 256, 3, false},
		{"dir", 1, 2000, 1, 2000, false},
		{"dir", 1000, 1, 250, 4, true},
		{"dir", 300, 7, 300, 7, true},
		{"package", 1000, 2, 250, 8, true},
		{"owner", 1, 50, 1, 50, false},
		{"owner", 2, 100, 4, 50, true},
		{"owner", 100, 256, 300, 100, true},
	} {
		t.Run(fmt.Sprint(tc.by, tc.dirs, tc.each), func(t *testing.T) {
			t.Parallel()
			x, problems := expandOne(t, spec.Task{Role: "mod", Shard: &spec.Shard{By: tc.by, Glob: "*/*.go"}}, tree(tc.dirs, tc.each))
			require.Empty(t, problems)
			require.Equal(t, tc.tasks, len(x.Tasks)) //nolint:testifylint // the tasks are too many to print
			most := 0
			for _, task := range x.Tasks {
				most = max(most, len(task.Files))
			}
			require.Equal(t, tc.most, most)
			if tc.noted {
				require.Len(t, x.Notes, 1)
				require.Contains(t, x.Notes[0], fmt.Sprintf("chosen for %d files: max_files or max_tokens sets another size", tc.dirs*tc.each))
				return
			}
			require.Empty(t, x.Notes)
		})
	}
}
