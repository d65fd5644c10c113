package plan

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// The example of GitHub's documentation, and the files that its comments name.
const exampleOwners = `# This is a comment.
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment.
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/* docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octologs
/apps/ @octocat
/apps/github
`

func TestOwnersOfGitHubsExample(t *testing.T) {
	t.Parallel()
	o, faults := parseOwners("CODEOWNERS", []byte(exampleOwners))
	require.Empty(t, faults)
	for path, want := range map[string]string{
		"README":               "@global-owner1 @global-owner2",
		"deep/down/README":     "@global-owner1 @global-owner2",
		"a/b/x.js":             "@js-owner",
		"main.go":              "docs@example.com",
		"x/notes.txt":          "@octo-org/octocats",
		"build/logs/a/b.txt":   "@octologs",
		"build/logs":           "@octologs",
		"docs/x.md":            "@doctocat",
		"docs/a/b.md":          "@doctocat",
		"x/docs/y.md":          "@global-owner1 @global-owner2",
		"x/apps/y.md":          "@octocat",
		"x/apps":               "@global-owner1 @global-owner2",
		"scripts/run.sh":       "@doctocat @octocat",
		"deeply/nested/logs/x": "@octologs",
		"apps/x":               "@octocat",
		"apps/github":          "",
		"apps/github/x":        "",
		"apps/githubber":       "@octocat",
	} {
		require.Equal(t, want, o.of(path), path)
	}
}

func TestOwnerPatterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern string
		yes, no []string
	}{
		{"*", []string{"a", "a/b/c", ".x"}, nil},
		{"/*", []string{"a"}, []string{"a/b"}},
		{"docs/*", []string{"docs/a"}, []string{"docs/a/b", "x/docs/a"}},
		{"docs/*.md", []string{"docs/a.md"}, []string{"docs/a/b.md"}},
		{"docs/**", []string{"docs/a", "docs/a/b"}, []string{"docs", "x/docs/a"}},
		{"**", []string{"a", "a/b"}, nil},
		{"/**", []string{"a", "a/b"}, nil},
		{"**/logs", []string{"logs", "a/logs", "a/logs/b"}, []string{"a/logsx"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b", "a/x/b/c"}, []string{"x/a/b", "ab"}},
		{"a**b/c", []string{"axb/c", "ab/c"}, []string{"a/x/b/c"}},
		{"/docs", []string{"docs", "docs/a/b"}, []string{"docsx", "x/docs"}},
		{"docs/", []string{"docs/a", "x/docs/a/b"}, []string{"docs"}},
		{"*.js", []string{"a.js", "x/a.js", "x.js/b"}, []string{"a.jsx"}},
		{"a*", []string{"a", "x/a", "ab/c"}, []string{"xa"}},
		{"/a*/b*", []string{"a/b", "ab/bc/d"}, []string{"a/x/b"}},
		{"?.c", []string{"a.c", "ü.c", "x/a.c"}, []string{"ab.c", ".c"}},
		{`/a\ b/`, []string{"a b/c"}, []string{"a/b"}},
		{"/{a,b}/", []string{"{a,b}/x"}, []string{"a/x"}},
		{`/\[id\]/*.ts`, []string{"[id]/a.ts"}, []string{"i/a.ts"}},
		{`/\*`, []string{"*", "*/a"}, []string{"a"}},
		{"/(x)/$a+b", []string{"(x)/$a+b"}, nil},
		{"/c#/", []string{"c#/a"}, nil},
		{"/A/", []string{"A/x"}, []string{"a/x"}},
		{"/", nil, []string{"a"}},
	} {
		o, faults := parseOwners("f", []byte(tc.pattern+" @x\n"))
		require.Empty(t, faults, tc.pattern)
		for _, path := range tc.yes {
			require.Equal(t, "@x", o.of(path), "%s, %s", tc.pattern, path)
		}
		for _, path := range tc.no {
			require.Empty(t, o.of(path), "%s, %s", tc.pattern, path)
		}
	}
}

func TestOwnerLines(t *testing.T) {
	t.Parallel()
	o, faults := parseOwners("f", []byte("\ufeff/a\t@B @a\t@A # b\r\n\r\n  # c\r\n/b Me@Example.com @o/t.x_y-z"))
	require.Empty(t, faults)
	require.Equal(t, "@a @b", o.of("a"), "sorted, each once, without case")
	require.Equal(t, "@o/t.x_y-z me@example.com", o.of("b"))
}

func TestOwnerFaultsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"*.txt docs@":                  `the owner "docs@" is not @user`,
		"* team":                       `the owner "team" is not`,
		"* @":                          `the owner "@" is not`,
		"* @a/b/c":                     `the owner "@a/b/c" is not`,
		"* @a#b":                       `the owner "@a#b" is not`,
		"[Section]":                    "GitHub does not support [ ]",
		"*.[ch] @a":                    "GitHub does not support [ ]",
		"!a @a":                        "GitHub does not support !",
		`\#a @a`:                       "begins with #",
		"***/a @a":                     "three * in a row",
		`a\`:                           "ends with a backslash",
		"caf\xe9 @a":                   "not UTF-8",
		strings.Repeat("a", 1001):      "more than 1000",
		"* @" + strings.Repeat(" ", 3): "is not @user",
	} {
		_, faults := parseOwners("docs/CODEOWNERS", []byte("* @ok\n\n"+line+"\n"))
		require.Len(t, faults, 1, line)
		require.Contains(t, faults[0], "docs/CODEOWNERS:3: ", line)
		require.Contains(t, faults[0], want, line)
	}
}

func ownedTree() memTree {
	return memTree{files: map[string]string{
		"CODEOWNERS": "*.go @go\n/a/ @B @a\n/a/free/\n", "docs/CODEOWNERS": "* @docs\n",
		"a/x.go": "", "a/y.txt": "", "a/free/z.go": "", "b/x.go": "", "c/y.txt": "",
	}}
}

func TestShardsByOwner(t *testing.T) {
	t.Parallel()
	x, problems := expandOne(t, spec.Task{Role: "mod", Shard: &spec.Shard{By: "owner", Glob: "[abc]/**"}}, ownedTree())
	require.Empty(t, problems)
	var titles []string
	var got [][]string
	for _, task := range x.Tasks {
		titles, got = append(titles, task.Title), append(got, task.Files)
	}
	require.Equal(t, [][]string{{"a/free/z.go", "c/y.txt"}, {"a/x.go", "a/y.txt"}, {"b/x.go"}}, got)
	require.Equal(t, []string{"t (no owner: a/free/z.go and 1 more)", "t (@a @b: a/x.go and 1 more)", "t (@go: b/x.go)"}, titles)
	require.Empty(t, x.Notes)
}

func TestTheFirstPlaceOfOwnersCounts(t *testing.T) {
	t.Parallel()
	tree := ownedTree()
	tree.files[".github/CODEOWNERS"] = "* @all\n"
	rule := spec.Shard{By: "owner", Glob: "{a,b}/**"}
	for _, place := range []struct{ file, title string }{
		{".github/CODEOWNERS", "t (@all: a/x.go and 3 more)"},
		{"CODEOWNERS", "t (no owner: a/free/z.go)"},
		{"docs/CODEOWNERS", "t (@docs: a/x.go and 3 more)"},
	} {
		x, problems := expandOne(t, spec.Task{Role: "mod", Shard: &rule}, tree)
		require.Empty(t, problems)
		require.Equal(t, place.title, x.Tasks[0].Title)
		delete(tree.files, place.file)
	}
	_, problems := expandOne(t, spec.Task{Role: "mod", Shard: &rule}, tree)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "by owner needs a CODEOWNERS file, and the commit has none: .github/CODEOWNERS, CODEOWNERS, docs/CODEOWNERS")
}

func TestOwnersThatCannotBeReadAreAProblem(t *testing.T) {
	t.Parallel()
	tree, rule := ownedTree(), spec.Shard{By: "owner"}
	tree.files["CODEOWNERS"] = "* @ok\n/a docs@\n\n!b @x\n"
	_, problems := expandOne(t, spec.Task{Role: "mod", Shard: &rule}, tree)
	require.Len(t, problems, 1)
	require.Equal(t, "tasks[0].shard", problems[0].Path)
	require.Equal(t, `CODEOWNERS:2: the owner "docs@" is not @user, @organization/team or an email address; `+
		"CODEOWNERS:4: GitHub does not support ! in CODEOWNERS", problems[0].Message)
	tree.files["CODEOWNERS"] = strings.Repeat("[\n", 1000)
	_, problems = expandOne(t, spec.Task{Role: "mod", Shard: &rule}, tree)
	require.Contains(t, problems[0].Message, "CODEOWNERS:5: GitHub does not support [ ] in CODEOWNERS; and 995 more")
	tree.files["CODEOWNERS"] = strings.Repeat("#", maxOwnerFile)
	_, problems = expandOne(t, spec.Task{Role: "mod", Shard: &rule}, tree)
	require.Contains(t, problems[0].Message, "CODEOWNERS has 3145728 bytes; GitHub reads less than 3145728")
}

// Whatever a file holds, it is rules with valid globs, or faults with their lines.
func FuzzOwners(f *testing.F) {
	for _, seed := range []string{exampleOwners, "* @a\n!b\n", "\\", "a\\ b @x", "[", "\xff", "***", "/{}/** @o/t", "**/ @a", "\ufeff* @a"} {
		f.Add(seed, "docs/a b.md")
	}
	f.Fuzz(func(t *testing.T, content, path string) {
		o, faults := parseOwners("f", []byte(content))
		require.LessOrEqual(t, len(o)+len(faults), strings.Count(content, "\n")+1)
		for _, fault := range faults {
			require.Less(t, len(fault), 2000)
			require.True(t, strings.HasPrefix(fault, "f:"), fault)
		}
		for _, rule := range o {
			require.True(t, doublestar.ValidatePattern(rule.glob), rule.glob)
			require.True(t, doublestar.ValidatePattern(rule.below), rule.below)
			for _, name := range strings.Fields(rule.owners) {
				require.Regexp(t, ownerName, name)
			}
		}
		if got := o.of(path); got != "" {
			require.Contains(t, strings.ToLower(content), strings.Fields(got)[0])
		}
	})
}
