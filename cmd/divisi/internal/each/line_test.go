package each

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/configs"
	"divisi/internal/spec"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name             string
		line             Line
		command          []string
		match, remaining string
	}{
		{
			"sed",
			Line{Command: []string{"sed", "-i", `s/ioutil\.ReadFile/os.ReadFile/g`, "{files}"}},
			[]string{"sed", "-i", `s/ioutil\.ReadFile/os.ReadFile/g`, "{files}"},
			`ioutil\.ReadFile`, "",
		},
		{
			"then",
			Line{Command: []string{"sed", "-i", "s/a b/c/", "{files}"}, Then: "gofmt -w '{files}' && true {files}"},
			[]string{"sh", "-c", `sed -i 's/a b/c/' "$@" && gofmt -w "$@" && true "$@"`, "sh", "{files}"},
			"a b", "",
		},
		{
			"what is written matches again",
			Line{Command: []string{"sed", "-i", "-e", "s|foo|foobar|", "{files}"}},
			[]string{"sed", "-i", "-e", "s|foo|foobar|", "{files}"},
			"foo", spec.RemainingOK,
		},
		{
			"two expressions",
			Line{Command: []string{"perl", "-pi", "-e", "s/a+b/c/", "-e", "s/^d$/e/i", "{files}"}},
			[]string{"perl", "-pi", "-e", "s/a+b/c/", "-e", "s/^d$/e/i", "{files}"},
			"a+b|(?i:(?m:^d$))", "",
		},
		{
			"named",
			Line{Command: []string{"./fix.sh", "{files}"}, Match: `log\.Print`, By: "package"},
			[]string{"./fix.sh", "{files}"},
			`log\.Print`, "",
		},
		{"all", Line{Command: []string{"./fix.sh", "{files}"}}, []string{"./fix.sh", "{files}"}, "", ""},
		{
			"ast-grep",
			Line{Pattern: "ioutil.ReadFile($A)", Rewrite: "os.ReadFile($A)", Lang: "go"},
			[]string{
				"ast-grep", "run", "--pattern", "ioutil.ReadFile($A)", "--rewrite", "os.ReadFile($A)", "--lang", "go", "--update-all", "{files}",
			},
			`\bReadFile\b`, spec.RemainingOK,
		},
	} {
		c, err := tc.line.Change()
		require.NoError(t, err, tc.name)
		require.Equal(t, tc.command, c.Role.Command, tc.name)
		require.Len(t, c.Plan.Tasks, 1, tc.name)
		require.Equal(t, tc.match, c.Plan.Tasks[0].Shard.Match, tc.name)
		require.Equal(t, tc.remaining, c.Plan.Tasks[0].Remaining, tc.name)
		plan, role, err := c.Texts("")
		require.NoError(t, err, tc.name)
		read, _, err := configs.ParsePlan("each.yaml", plan)
		require.NoError(t, err, "%s\n%s", tc.name, plan)
		require.Equal(t, c.Plan, read, tc.name)
		written, err := configs.ParseRole("each.md", role)
		require.NoError(t, err, "%s\n%s", tc.name, role)
		require.Equal(t, c.Role.Command, written.Command, tc.name)
		require.Equal(t, c.Role.Join, written.Join, tc.name)
	}
}

func TestNoLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line Line
		says string
	}{
		{Line{}, "nothing says what changes the files"},
		{Line{Command: []string{"sed", "-i", "s/a/b/"}}, "divisi each -- sed -i s/a/b/ {files}"},
		{Line{Command: []string{"sh", "-c", "sed -i s/a/b/ {files}"}}, "must be an argument of its own"},
		{Line{Command: []string{"{files}"}}, "cannot be the program"},
		{Line{Brief: "Move to slog"}, "needs a role"},
		{Line{Role: "generator"}, "needs a brief"},
		{Line{Role: "generator", Brief: "x", Command: []string{"a", "{files}"}}, "three kinds"},
		{Line{Pattern: "a($A)"}, "needs --rewrite and --lang"},
		{Line{Command: []string{"a", "{files}"}, Rewrite: "b"}, "are for --ast-grep"},
		{Line{Command: []string{"a", "{files}"}, Files: []string{"x"}, Match: "y"}, "--from names the files"},
		{Line{Command: []string{"a", "{files}"}, Files: []string{}}, "names no file"},
	} {
		_, err := tc.line.Change()
		require.ErrorContains(t, err, tc.says)
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	c, err := Line{Command: []string{"a", "{files}"}, Files: []string{"b/2", "a/1", "b/1", "./a/1"}}.Change()
	require.NoError(t, err)
	require.Len(t, c.Plan.Tasks, 2)
	require.Equal(t, []string{"a/1"}, c.Plan.Tasks[0].Files)
	require.Equal(t, []string{"b/2", "b/1"}, c.Plan.Tasks[1].Files)
	require.Equal(t, "each-002", c.Plan.Tasks[1].ID)
}

func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"/a/d", "s/a/b/;s/c/d/", `s/\(a\)\1/b/`, "y/a/b/", "s/a/b/w out", "1s/a/b/", "s/a", "s/(?=a)/b/"} {
		extended := script == "s/(?=a)/b/"
		_, ok := parse(script, extended)
		require.False(t, ok, script)
	}
}

func FuzzSubstitution(f *testing.F) {
	f.Add(`s/ioutil\.ReadFile/os.ReadFile/g`, true)
	f.Add(`s|\<a\>|b|`, false)
	f.Fuzz(func(_ *testing.T, script string, extended bool) {
		if s, ok := parse(script, extended); ok {
			match([]substitution{s})
		}
	})
}
