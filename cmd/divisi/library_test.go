package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/cli"
)

// The packages below serve other programs too: their texts name no command of this one and no flag. The table in exit.go adds both.
func TestLibrariesNameNoCommandAndNoFlag(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(ownNames())
	require.Regexp(t, named, "then: divisi resume 1f2e")
	require.Regexp(t, named, "start it with --allow-unverified")
	require.NotRegexp(t, named, "divisi runs; git diff --stat")
	read := 0
	for _, room := range []string{"bus", "configs", "contextscope", "internal", "orchestrator", "subagents"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", room), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testkit" || d.Name() == "testdata"):
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			read++
			for _, text := range literals(t, path) {
				if strings.Contains(text, " ") { // else it is an argument
					require.NotRegexp(t, named, text, path)
				}
			}
			return nil
		}))
	}
	require.Greater(t, read, 400)
}

// ownNames matches a command of divisi, and each of its flags that no program that is called here has too.
func ownNames() string {
	var out bytes.Buffer
	commands, flags := map[string]bool{}, map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			commands[sub.Name()] = true
			walk(sub)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}
	walk(newRoot(&cli.Globals{Out: &out, Err: &out}))
	for _, foreign := range []string{"format", "help", "quiet", "stat", "local", "save"} {
		delete(flags, foreign)
	}
	delete(commands, "runs") // "the divisi runs" is no command
	return `\bdivisi (` + anyOf(commands) + `)\b|(^|[ (\x60])--(` + anyOf(flags) + `)\b`
}

func anyOf(names map[string]bool) string {
	var all []string
	for name := range names {
		all = append(all, regexp.QuoteMeta(name))
	}
	return strings.Join(all, "|")
}

// literals are the texts in a file, but for tags.
func literals(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			out = append(out, text)
		}
		return true
	})
	return out
}
