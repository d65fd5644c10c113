package main

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/cli"
	"divisi/configs"
)

// top is the directory of the project.
const top = "../.."

// TestPagesAreTrue reads README, docs and examples: every block parses as what it is, every command is one of this program with
// flags that it has, and every link leads to a file and a heading.
func TestPagesAreTrue(t *testing.T) {
	t.Parallel()
	pages := readPages(t)
	require.Greater(t, len(pages), 35)
	for name, p := range pages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if filepath.Dir(name) == "docs" {
				require.Regexp(t, opening, p.text, "it begins with a sentence")
			}
			for _, b := range p.blocks {
				checkBlock(t, name, b)
			}
			for _, span := range codeSpans.FindAllStringSubmatch(p.prose, -1) {
				checkCommand(t, name, strings.ReplaceAll(span[1], "\n", " "))
			}
			for _, link := range links.FindAllStringSubmatch(p.prose, -1) {
				checkLink(t, pages, name, link[1])
			}
		})
	}
}

// mdPage is one Markdown file: its blocks, and all other text.
type mdPage struct {
	blocks []mdBlock
	text   string
	prose  string   // without the blocks
	slugs  []string // of its headings, as GitHub makes them
}

type mdBlock struct{ language, text string }

var (
	fence     = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	codeSpans = regexp.MustCompile("`(divisi [^`]+)`")
	links     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	opening   = regexp.MustCompile("^# .*\n\n(\\pL|`[^`])")
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// placeholder stands for a number.
	placeholder = regexp.MustCompile(`^[NM]$`)
	noSlug      = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

func readPages(t *testing.T) map[string]mdPage {
	t.Helper()
	var names []string
	for _, glob := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(top, glob))
		require.NoError(t, err)
		names = append(names, found...)
	}
	pages := map[string]mdPage{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		p := mdPage{text: string(data), prose: fence.ReplaceAllString(string(data), "")}
		for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
			p.blocks = append(p.blocks, mdBlock{m[1], m[2]})
		}
		for _, m := range heading.FindAllStringSubmatch(p.prose, -1) {
			p.slugs = append(p.slugs, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
		}
		rel, err := filepath.Rel(top, name)
		require.NoError(t, err)
		pages[rel] = p
	}
	return pages
}

func checkLink(t *testing.T, pages map[string]mdPage, from, link string) {
	t.Helper()
	if strings.Contains(link, "://") {
		return
	}
	path, slug, _ := strings.Cut(link, "#")
	target := filepath.Join(filepath.Dir(from), path)
	if path == "" {
		target = from
	}
	_, err := os.Stat(filepath.Join(top, target))
	require.NoError(t, err, "%s: link %s", from, link)
	if slug != "" {
		require.Contains(t, pages[target].slugs, slug, "%s: link %s", from, link)
	}
}

func checkBlock(t *testing.T, name string, b mdBlock) {
	t.Helper()
	var err error
	switch {
	case b.language == "sh":
		checkShell(t, name, b.text)
	case b.language == "json":
		require.True(t, json.Valid([]byte(b.text)), "%s: %s", name, b.text)
	case b.language == "go":
		source := "package p\nfunc _() {\n" + strings.ReplaceAll(b.text, "…", "") + "\n}"
		_, err = parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
	case b.language == "yaml" && strings.HasPrefix(b.text, "goal:"):
		_, _, err = configs.ParsePlan("plan.yaml", b.text)
	case b.language == "yaml":
		var content any
		err = yaml.Unmarshal([]byte(b.text), &content)
	case strings.HasPrefix(b.text, "---\nname:"):
		_, err = configs.ParseRole("role.md", b.text)
	default: // a drawing, or what a program printed, with the commands that made it
		for line := range strings.Lines(b.text) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				checkShell(t, name, command)
			}
		}
	}
	require.NoError(t, err, "%s: %s", name, b.text)
}

// checkShell checks the lines of a block that a reader types.
func checkShell(t *testing.T, name, text string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if target, ok := strings.CutPrefix(line, "make "); ok {
			makefile, err := os.ReadFile(filepath.Join(top, "Makefile"))
			require.NoError(t, err)
			require.Contains(t, string(makefile), "\n"+strings.Fields(target)[0]+":", "%s: %s", name, line)
		}
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, "./") && strings.HasPrefix(line, "go ") && word != "./..." {
				_, err := os.Stat(filepath.Join(top, word))
				require.NoError(t, err, "%s: %s", name, line)
			}
		}
		if at := strings.Index(line, "divisi "); at == 0 || at > 0 && strings.ContainsAny(line[at-1:at], " (") && strings.HasPrefix(line[at:], "divisi ") {
			checkCommand(t, name, line[at:])
		}
	}
}

// checkCommand has the program read one of its command lines, and does not run it. Of alternatives (a|b) each is read; an
// optional part ([…]) counts as given; after "…" any arguments may follow.
func checkCommand(t *testing.T, name, line string) {
	t.Helper()
	for _, words := range alternatives(shellWords(line)) {
		root := newRoot(&cli.Globals{Out: io.Discard, Err: io.Discard})
		root.InitDefaultHelpCmd()
		root.InitDefaultCompletionCmd()
		c, rest, err := root.Find(words[1:])
		require.NoError(t, err, "%s: %s", name, line)
		require.False(t, c == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-"), "%s: unknown command: %s", name, line)
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		open := slices.ContainsFunc(rest, func(w string) bool { return strings.Contains(w, "…") || strings.HasSuffix(w, "...") })
		if err := c.ParseFlags(rest); err != nil && !strings.HasPrefix(err.Error(), "flag needs an argument") { // only named
			require.NoError(t, err, "%s: %s", name, line)
		}
		if !open && c.Runnable() && c.Args != nil && len(c.Flags().Args()) > 0 {
			require.NoError(t, c.ValidateArgs(c.Flags().Args()), "%s: %s", name, line)
		}
	}
}

// shellWords is the first command of a line of a shell, up to a pipe, a redirection or a comment.
func shellWords(line string) []string {
	var words []string
	var word bytes.Buffer
	quote, begun := rune(0), false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, begun = r, true
		case r == ' ':
			end()
		case !begun && strings.ContainsRune("#|><&", r) || r == ';' || i > 0 && r == '>':
			end()
			return words
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words
}

// alternatives expands words such as stop|start, and takes the brackets off what is optional.
func alternatives(words []string) [][]string {
	all := [][]string{nil}
	for i, word := range words {
		word = placeholder.ReplaceAllString(strings.Trim(word, "[]"), "1")
		options := []string{word}
		if i < 3 && strings.Contains(word, "|") {
			options = strings.Split(word, "|")
		}
		var next [][]string
		for _, so := range all {
			for _, option := range options {
				next = append(next, append(slices.Clone(so), option))
			}
		}
		all = next
	}
	return all
}
