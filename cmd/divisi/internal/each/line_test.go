package each

import (
	"regexp"
	"strings"
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
			`ioutil\.ReadFile`, spec.RemainingOK,
		},
		{
			"then",
			Line{Command: []string{"sed", "-i", "s/a b/c/", "{files}"}, Then: "gofmt -w '{files}' && true {files}"},
			[]string{"sh", "-c", "sed -i 's/a b/c/' \"$@\" && { gofmt -w \"$@\" && true \"$@\"\n}", "sh", "{files}"},
			"a b", spec.RemainingOK,
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
			"", "",
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

// A file that a command changes must never be left out: only plain text is guessed.
func TestWanted(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"sed -i s/foo/bar/": "foo", `sed -i s/\<foo\>/bar/g`: `\bfoo\b`, `sed -E -i -e s/a\+b/c/`: `a\+b`,
		"sed -i s/^a/b/": "(?m:^a)", "sed -i s/a$/b/I": "(?i:(?m:a$))", "sed -i s/f(x)/g/": `f\(x\)`, "sed -ri s/f(x)/g/": "",
		"sed -i /a/s/b/c/": "", "sed -i s/a/b/;s/c/d/": "", "sed -i s/[ab]/c/": "", "sed -i s/a*/b/": "", `sed -i s/a\|b/c/`: "",
		"sed -i y/a/b/": "", "sed -i s/a/b/w": "", "sed -n -i s/a/b/": "", "sed -z -i s/a/b/": "", "sed -i -f x -e s/a/b/": "",
		"sed -es/a/b/ -e s/c/d/": "", "sed --posix -i s/a/b/": "", "sed -ie s/a/b/": "", "sed -i s/é/b/": "", `sed -i s/a\nb/c/`: "",
		"sed -i s/a^b/c/": "", "perl -pi -e s/foo/bar/g": "foo", "perl -i -pe s/foo/bar/": "foo", "perl -pi -e s/$x/b/": "",
		"perl -pi -e s/a@b/c/": "", "perl -lpi -e s/a/b/": "", `perl -pi -e s/\d/b/`: "", "perl -pie s/a/b/": "", "awk s/a/b/": "",
		"perl -p -i.bak -e s/a/b/ -e s/c.d/e/": "a|c.d", `sed -i s/\$a/b/`: `\$a`, "sed -i s//b/": "", `sed -i -E s/a\d/b/`: "",
	} {
		require.Equal(t, want, wanted(append(strings.Fields(line), "{files}")), line)
	}
}

func TestThen(t *testing.T) {
	t.Parallel()
	for then, want := range map[string]bool{
		"gofmt -w {files}": true, `a "{files}"; b '{files}'`: true, "x": true, "sh -c 'a {files}'": false, `sh -c "a {files} b"`: false,
		"a x{files}": false, "a {files}.bak": false, "(a {files})": true,
	} {
		require.Equal(t, want, whole(then), then)
	}
}

func FuzzWanted(f *testing.F) {
	f.Add(`s/ioutil\.ReadFile/os.ReadFile/g`)
	f.Add(`s|\<a\>|b|`)
	f.Fuzz(func(t *testing.T, script string) {
		for _, program := range []string{"sed", "perl"} {
			_, err := regexp.Compile(wanted([]string{program, "-e", script, "{files}"}))
			require.NoError(t, err)
		}
	})
}
