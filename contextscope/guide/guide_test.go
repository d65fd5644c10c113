package guide

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"divisi/contextscope"

	"github.com/stretchr/testify/require"
)

func tree(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		text, ok := files[path]
		if !ok {
			return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
		}
		if text == "fails" {
			return nil, errors.New("no disk")
		}
		return []byte(text), nil
	}
}

func TestFindGoesFromTheRootToTheTask(t *testing.T) {
	t.Parallel()
	read := tree(map[string]string{
		"AGENTS.md": "root\n", "GEMINI.md": "not this one", "internal/CLAUDE.md": "inner", "internal/text/GEMINI.md": "text",
		"internal/text/CLAUDE.md": "nor this", "internal/text/deep/AGENTS.md": "too deep", "cmd/AGENTS.md": "elsewhere",
		"internal/text-2/AGENTS.md": "  \n",
	})
	want := []contextscope.Guide{
		{Path: "AGENTS.md", Text: "root"}, {Path: "internal/CLAUDE.md", Text: "inner"}, {Path: "internal/text/GEMINI.md", Text: "text"},
	}
	guides, notes := Find(read, []string{"internal/text"})
	require.Empty(t, notes)
	require.Equal(t, want, guides)
	guides, _ = Find(read, []string{"internal/text-2", "cmd", "internal/text/", "../out", "/abs", "."})
	require.Equal(t, append(want[:1:1], contextscope.Guide{Path: "cmd/AGENTS.md", Text: "elsewhere"}, want[1], want[2]), guides)
	guides, notes = Find(tree(nil), nil)
	require.Empty(t, guides)
	require.Empty(t, notes)
}

func TestDirOfAWriteSet(t *testing.T) {
	t.Parallel()
	for want, files := range map[string][]string{
		".": {}, "a": {"a/b.go"}, "a/b": {"a/b/c.go", "a/b/d/*.go"}, "a/bc": {"a/bc"}, "x": {"x/[id]/page.tsx"},
		"y": {"y/ab/c.go", "y/ac/c.go"}, "z": {"z/**"}, "q/internal": {"q/internal/te*/x.go"},
	} {
		require.Equal(t, want, Dir(files), files)
	}
	require.Equal(t, ".", Dir([]string{"a/b.go", "b/b.go"}))
	require.Equal(t, ".", Dir([]string{"*.go"}))
}

func TestImports(t *testing.T) {
	t.Parallel()
	read := tree(map[string]string{
		"AGENTS.md": "Begin\n@docs/style.md\nSee @./docs/more.md, and `@docs/code.md`, a@b.md and @types/node.\n" +
			"```sh\n@docs/fenced.md\n~~~\n```\n@gone.md\n@../etc/passwd.txt\n@/etc/hosts.txt\n@~/me.md\n@bin.md\n@docs/style.md\n@fails.md\nEnd\n",
		"docs/style.md": "Style\n@deeper/one.md", "docs/deeper/one.md": "One\n@../../AGENTS.md\n@../style.md\n", "docs/more.md": "More",
		"docs/code.md": "X", "docs/fenced.md": "X", "bin.md": "a\x00b", "fails.md": "fails", "types/node": "X",
		"docs/AGENTS.md": "@more.md\n",
	})
	guides, notes := Find(read, []string{"docs"})
	require.Equal(t, []contextscope.Guide{{Path: "AGENTS.md", Text: "Begin\nStyle\nOne\n" +
		"See @./docs/more.md, and `@docs/code.md`, a@b.md and @types/node.\nMore\n" +
		"```sh\n@docs/fenced.md\n~~~\n```\n@gone.md\n@../etc/passwd.txt\n@/etc/hosts.txt\n@~/me.md\n@bin.md\n@fails.md\nEnd"}}, guides)
	require.Equal(t, []string{
		"gone.md is referred to and is not there", "AGENTS.md: the import @../etc/passwd.txt lies outside the repository",
		"AGENTS.md: the import @/etc/hosts.txt lies outside the repository", "AGENTS.md: the import @~/me.md lies outside the repository",
		"bin.md is no text", "fails.md could not be read: no disk",
	}, notes)
}

func TestLinksAreFollowedAndNothingComesTwice(t *testing.T) {
	t.Parallel()
	guides, notes := Find(tree(map[string]string{
		"AGENTS.md": "docs/AGENTS.md", "docs/AGENTS.md": "The same.\n", "docs/GEMINI.md": "another kind", "a/AGENTS.md": "../docs/AGENTS.md",
		"b/AGENTS.md": "AGENTS.md", "c/AGENTS.md": "none.md",
	}), []string{"docs", "a", "b", "c"})
	require.Equal(t, []contextscope.Guide{{Path: "AGENTS.md", Text: "The same."}}, guides)
	require.Equal(t, []string{"c/none.md is referred to and is not there"}, notes)
}

func TestDepthNumberAndSizeAreBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"AGENTS.md": "0\n@1.md\n"}
	for i := 1; i < 9; i++ {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("%d\n@%d.md\n", i, i+1)
	}
	guides, notes := Find(tree(files), nil)
	require.Equal(t, "0\n1\n2\n3\n4\n5\n@6.md", guides[0].Text)
	require.Equal(t, []string{"5.md: the import @6.md lies more than 5 imports deep"}, notes)

	many := map[string]string{}
	for i := range 90 {
		many["AGENTS.md"] += fmt.Sprintf("@x%d.md\n", i)
		many[fmt.Sprintf("x%d.md", i)] = "x"
	}
	guides, notes = Find(tree(many), nil)
	require.Equal(t, 50, strings.Count(guides[0].Text, "x\n"))
	require.Len(t, notes, 21)
	require.Equal(t, "and more of the same kind", notes[20])

	line := strings.Repeat("é", 60) + "\n"
	guides, notes = Find(tree(map[string]string{
		"AGENTS.md": strings.Repeat(line, 500), "a/AGENTS.md": strings.Repeat(line, 100), "a/b/AGENTS.md": strings.Repeat(line, 100),
	}), []string{"a/b"})
	require.Len(t, guides, 3)
	sum := 0
	for _, g := range guides {
		sum += len(g.Text)
		require.LessOrEqual(t, len(g.Text), maxFile)
		require.Zero(t, strings.Count(strings.TrimSuffix(g.Text, "\n")+"\n", "é\n")-strings.Count(strings.TrimSuffix(g.Text, "\n")+"\n", "\n"))
	}
	require.LessOrEqual(t, sum, maxAll)
	require.Contains(t, notes[0], "AGENTS.md was cut: 16335 of 60500 bytes were taken")

	guides, notes = Find(tree(map[string]string{
		"AGENTS.md": strings.Repeat(line, 130), "a/AGENTS.md": strings.Repeat(line, 130), "a/b/AGENTS.md": strings.Repeat(line, 130),
	}), []string{"a/b"})
	require.Len(t, guides, 3)
	require.Greater(t, len(guides[2].Text), 15_000, "the nearest is whole")
	require.Less(t, len(guides[0].Text), 2_000)
	require.Len(t, notes, 1)
}

func TestFencesAndSpans(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"@a.md":               "a.md",
		"x `@a.md` @b.md":     "b.md",
		"`` ` @a.md `` @b.md": "b.md",
		"` @a.md":             "a.md",
		"``@a.md`":            "",
		"(@a.md)":             "",
		"*@a.md*":             "",
		"@a.md.":              "a.md",
		"@a b@c.md @":         "",
		"@@a.md":              "",
		"@.md":                "",
		"@dir/":               "",
	} {
		_, got := importsOf(line, "")
		require.Equal(t, want, strings.Join(got, " "), line)
	}
	for _, tt := range []struct{ line, before, after string }{
		{"```go\n", "", "```"},
		{"~~~~\n", "", "~~~~"},
		{"```\n", "````", "````"},
		{"````\n", "```", ""},
		{"~~~\n", "```", "```"},
		{"``` x\n", "```", "```"},
		{"    ```\n", "", ""},
		{"```a`b\n", "", ""},
	} {
		after, _ := importsOf(tt.line, tt.before)
		require.Equal(t, tt.after, after, "%q", tt)
	}
}

// Whatever is in the files, the search ends, stays inside, is bounded, and says the same again.
func FuzzFind(f *testing.F) {
	f.Add("Begin\n@a.md\n`@b.md`\n```\n@a.md\n```\n", "@AGENTS.md @b.md", "b.md")
	f.Add("a.md", "b.md", "a.md")
	f.Add("@./a.md\n~~~~\n@b.md", "@../x.md\n@a/../b.md", "\x00")
	f.Fuzz(func(t *testing.T, root, a, b string) {
		files := map[string]string{"AGENTS.md": root, "a.md": a, "b.md": b, "d/GEMINI.md": a + "\n" + b}
		reads := 0
		read := func(path string) ([]byte, error) {
			require.True(t, fs.ValidPath(path), path)
			reads++
			return tree(files)(path)
		}
		guides, notes := Find(read, []string{"d", root})
		sum := 0
		for _, g := range guides {
			sum += len(g.Text)
			require.NotEmpty(t, g.Text)
		}
		require.LessOrEqual(t, sum, maxAll)
		require.LessOrEqual(t, reads, 4*(len(downTo([]string{"d", root}))*len(names)+maxImports))
		again, notesAgain := Find(tree(files), []string{"d", root})
		require.Equal(t, guides, again)
		require.Equal(t, notes, notesAgain)
	})
}
