package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want Note
	}{
		"everything": {
			"---\ntitle: The \"title\"\ntags: [a, b c]\npaths:\n  - 'x/**'\ncreated: 2026-01-02T04:04:05+01:00\nsource: r/t\n---\n\nText.\n\nMore.\n",
			Note{
				Title: `The "title"`, Tags: []string{"a", "b c"}, Paths: []string{"x/**"}, Source: "r/t", Text: "Text.\n\nMore.",
				Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			},
		},
		"no front matter":      {"Some text\n# A title\nmore", Note{Title: "A title", Text: "Some text\n# A title\nmore"}},
		"no title at all":      {"Some text", Note{Title: "name", Text: "Some text"}},
		"a heading in code":    {"```\n# no\n```\n## Yes\n", Note{Title: "Yes", Text: "```\n# no\n```\n## Yes"}},
		"empty front matter":   {"---\n---\nx", Note{Title: "name", Text: "x"}},
		"a date":               {"---\ncreated: 2026-01-02\n---\nx", Note{Title: "name", Created: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Text: "x"}},
		"Windows":              {"\ufeff---\r\ntitle: a\r\n---\r\nx\r\ny\r\n", Note{Title: "a", Text: "x\ny"}},
		"a rule in the text":   {"---\ntitle: a\n---\n---\ntitle: b\n---\n", Note{Title: "a", Text: "---\ntitle: b\n---"}},
		"hidden characters":    {"---\ntitle: \"a\\u001b[31m\\u202eb\\nc\"\n---\nx", Note{Title: "a[31mb c", Text: "x"}},
		"indented first line":  {"\n\n    code\n", Note{Title: "name", Text: "    code"}},
		"nothing":              {"", Note{Title: "name"}},
		"a title that is long": {"# " + strings.Repeat("é", 500), Note{Title: strings.Repeat("é", maxTitle), Text: "# " + strings.Repeat("é", 500)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse("dir/name", []byte(c.text))
			require.NoError(t, err)
			c.want.Name = "dir/name"
			require.Equal(t, c.want, got)
		})
	}
}

func TestParseNamesThePlaceOfAFault(t *testing.T) {
	t.Parallel()
	bomb := "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" // 10,000,000,000 values
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d%s]\n", i+1, i+1, i, strings.Repeat(fmt.Sprintf(", *a%d", i), 9))
	}
	for text, want := range map[string]string{
		"---\ntitle: a\ntagz: [b]\n---\nx":                      `n:3:1: unknown field "tagz"; the fields are title, tags, paths, created, source`,
		"---\ntitle: [a]\n---\n":                                "n:2:8: ",
		"---\ntags: a\n---\n":                                   "n:2:7: ",
		"---\ntitle: a\ntitle: b\n---\n":                        "n:3:1: ",
		"---\ntitle: a\ncreated: yesterday\n---\n":              `n:3:1: created is "yesterday"; write it as 2026-01-31`,
		"---\ntitle: 'a\n---\n":                                 "n:2:",
		"---\n- a\n---\n":                                       "n:2:",
		bomb + "tags: *a9\n---\n":                               "n:3:10: aliases are not read here: write the value out",
		"---\ntitle: a\n":                                       "n:1:1: its front matter is not closed by a line ---",
		"---\ntitle: " + strings.Repeat("a", 9<<10) + "\n---\n": "n:1:1: its front matter is larger than 8 KiB",
		"a\nb\xff":                     "n:2:1: it is not UTF-8 text",
		"a\x00b":                       "n: it is not text: it contains a NUL character",
		strings.Repeat("a", maxNote+1): "n: it is larger than 64 KiB: split it",
	} {
		_, err := Parse("n", []byte(text))
		require.Error(t, err, text)
		require.Contains(t, err.Error(), want)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestRenderIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := Note{
			Name: "x", Title: rapid.String().Draw(t, "title"), Tags: rapid.SliceOf(rapid.String()).Draw(t, "tags"),
			Paths:  rapid.SliceOf(rapid.StringMatching(`[a-z*/{},:#'"\[\]-]{0,9}`)).Draw(t, "paths"),
			Source: rapid.String().Draw(t, "source"), Text: strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", ""),
			Created: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "created"), 0),
		}
		once, err := Parse("x", n.Render())
		require.NoError(t, err)
		n.tidy()
		require.Equal(t, n, once)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\ntitle: a\ntags: [a, 'b']\npaths:\n- x\ncreated: 2026-01-02\n---\n# b\n"))
	f.Add([]byte("---\na: &x [*x, *x]\n---\n"))
	f.Add([]byte("---\ntitle: !!binary a\n? b\n: c\n---"))
	f.Add([]byte("---\n{title: \"\\ud800\", tags: [[[[[[\n---\n"))
	f.Add([]byte("\r\r\n0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse("x", data)
		if err != nil {
			require.ErrorAs(t, err, new(*ParseError))
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, err := Parse("x", n.Render())
		if len(n.Render()) > maxNote { // quoting made it longer
			return
		}
		require.NoError(t, err)
		require.Equal(t, n, again)
	})
}
