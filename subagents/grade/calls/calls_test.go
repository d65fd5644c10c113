package calls

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command is followed to the programs that it runs.
func TestOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files   map[string]string
		command string
		calls   string // the first words of the calls
		whole   bool
		scripts string
	}{
		"a program":                      {nil, "go test ./...", "go", true, ""},
		"an unknown program":             {nil, "frobnicate", "frobnicate", false, ""},
		"a formatter":                    {nil, "gofmt -l .", "gofmt", true, ""},
		"a search behind xargs":          {nil, "xargs -n 1 grep foo", "grep", true, ""},
		"an environment":                 {nil, "env GOOS=windows go vet ./...", "go", true, ""},
		"a module of Python":             {nil, "python3 -m pytest -q", "pytest", true, ""},
		"an unknown module":              {nil, "python3 -m site", "site", false, ""},
		"a script of Python":             {map[string]string{"a.py": ""}, "python3 -X dev a.py", "python3", false, "a.py"},
		"coverage":                       {nil, "coverage run -m unittest", "unittest", true, ""},
		"uv":                             {nil, "uv run pytest", "pytest", true, ""},
		"node's runner":                  {nil, "node --test", "node", true, ""},
		"node with a program":            {nil, "node node_modules/.bin/jest", "jest", true, ""},
		"npx":                            {nil, "npx tsc --noEmit", "tsc", true, ""},
		"a tool of go":                   {nil, "go tool golangci-lint run", "golangci-lint", true, ""},
		"go run":                         {nil, "go run ./x", "go", false, ""},
		"a built program":                {nil, "./build/tests", "tests", true, ""},
		"a shell":                        {nil, "sh -c|go vet ./... && gofmt -l . | grep x", "go gofmt grep", true, ""},
		"a substitution":                 {nil, "sh -c|test -z \"$(git diff `ls`)\"", "ls git test", true, ""},
		"a document":                     {nil, "sh -c|cat <<E\nx\nE", "cat x E", false, ""},
		"redirections":                   {nil, "sh -c|go vet ./... >out 2>&1 </dev/null; echo done", "go echo", true, ""},
		"a function and a case":          {nil, "sh -c|f() { go vet; }; f", "go", true, ""},
		"a loop":                         {nil, "sh -c|for x in a b; do go test ./$x; done", "go", true, ""},
		"another directory":              {map[string]string{"sub/x": ""}, "sh -c|cd sub && go test", "sub:go", true, ""},
		"a directory of a subshell":      {map[string]string{"sub/x": ""}, "sh -c|(cd sub; go vet); go test", "sub:go go", true, ""},
		"a directory of env":             {map[string]string{"a/sub/x": ""}, "env -C a/sub go vet", "a/sub:go", true, ""},
		"a directory of env outside":     {nil, "env --chdir .. go vet", "go", false, ""},
		"a directory outside":            {nil, "sh -c|cd .. && go test", "go", false, ""},
		"a script of the tree":           {map[string]string{"ci.sh": "#!/bin/sh\nset -e\ngo vet ./...\n"}, "./ci.sh", "set go", true, "ci.sh"},
		"a script that a shell is given": {map[string]string{"ci.sh": "./ci.sh; go vet"}, "bash -e ci.sh", "go", false, "ci.sh"},
		"a script of Ruby":               {map[string]string{"x": "#!/usr/bin/env ruby\n"}, "./x", "ruby", false, "x"},
		"no such script":                 {nil, "sh nothing.sh", "", false, ""},
		"make": {map[string]string{"Makefile": "GO ?= go\n.PHONY: test\ntest: vet\n\t@$(GO) test ./... \\\n\t  -v\nvet:\n\tgo vet ./...\n" +
			"fmt:\n\tgofmt -w .\n"}, "make", "go go", true, ""},
		"make with a target": {map[string]string{"Makefile": "a:\n\tgo vet\nb:\n\tgrep x\n"}, "make -j4 b", "grep", true, ""},
		"make below":         {map[string]string{"sub/Makefile": "a:\n\tgo vet\n"}, "make -C sub a", "sub:go", true, ""},
		"make with patterns": {map[string]string{
			"Makefile": "SRC := $(wildcard src/*.c)\nOBJ = $(SRC:.c=.o)\nt: prog\n\t./prog\nprog: $(OBJ)\n\t$(CC) -o $@ $^\n" +
				"%.o: %.c\n\t$(CC) -MMD -c $< -o $@\n", "src/a.c": "",
		}, "make", "cc cc cc prog", true, ""},
		"make by itself":   {map[string]string{"Makefile": "t: a.o\n\t./a\n"}, "make t", "cc a", true, ""},
		"make's shell":     {map[string]string{"Makefile": "t:\n\tgo vet $(shell git ls-files)\n"}, "make t", "git go", true, ""},
		"an included file": {map[string]string{"Makefile": "include x.mk\nt:\n\tgo vet\n"}, "make t", "go", false, ""},
		"a condition":      {map[string]string{"Makefile": "ifdef X\nt:\n\tgo vet\nendif\n"}, "make t", "go", false, ""},
		"make a circle":    {map[string]string{"Makefile": "t: t\n\t$(MAKE) t\n"}, "make t", "", true, ""},
		"a script of npm": {
			map[string]string{"package.json": `{"scripts":{"pretest":"eslint .","test":"npm run unit","unit":"jest"}}`},
			"npm test", "eslint jest", true, "",
		},
		"npm with a directory":   {map[string]string{"w/package.json": `{"scripts":{"test":"vitest run"}}`}, "npm -C w test", "w:vitest", true, ""},
		"no such script of npm":  {map[string]string{"package.json": `{}`}, "npm run x", "", false, ""},
		"yarn with a program":    {map[string]string{"package.json": `{}`}, "yarn tsc -p .", "tsc", true, ""},
		"a hostile package.json": {map[string]string{"package.json": `{"scripts":{"a":"npm run b","b":"npm run a"}}`}, "npm run a", "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755))
			}
			root, err := os.OpenRoot(dir)
			require.NoError(t, err)
			defer root.Close()
			words, script, ok := strings.Cut(c.command, "|")
			command := strings.Fields(words)
			if ok {
				command = append(command, script)
			}
			got := Of(root, command)
			var names []string
			for _, call := range got.List {
				at := call.Words[0]
				if call.Dir != "." {
					at = call.Dir + ":" + at
				}
				names = append(names, at)
			}
			require.Equal(t, c.calls, strings.Join(names, " "))
			require.Equal(t, c.whole, got.Whole)
			steering := func(name string) bool {
				return slices.Contains([]string{"Makefile", "package.json"}, filepath.Base(name))
			}
			require.Equal(t, c.scripts, strings.Join(slices.DeleteFunc(got.Scripts, steering), " "))
		})
	}
}

// A call is sure where its failure is that of the gate.
func TestWhatIsSure(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"go vet": true, "gofmt -l . && go vet": true, "go vet; true": false, "go vet || true": false, "go vet | cat": false,
		"set -e\ngofmt -l .\ngo vet\ntrue": true, "set -o errexit; go vet; true": true, "go vet\ntrue": false, "go vet &": false,
		"if x; then go vet; fi": false, "! go vet": false, "cd sub\ngo vet": true, "(cd sub && go vet)": true,
		"export A=b; go vet": true, "x=$(go vet)": false, "echo a | xargs go vet": false, "true\n\ngo vet\n\n": false,
	} {
		for how, command := range map[string][]string{"text": {"sh", "-c", script}, "make": {"make"}} {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
			recipe := strings.ReplaceAll(strings.ReplaceAll(script, "\n", "; "), "$", "$$")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), []byte("t:\n\t"+recipe+"\n"), 0o600))
			root, err := os.OpenRoot(dir)
			require.NoError(t, err)
			got := Of(root, command)
			require.NoError(t, root.Close())
			found := false
			for _, call := range got.List {
				if call.Words[0] == "go" {
					found = true
					require.Equal(t, want, call.Sure, "%s: %s", how, script)
				}
			}
			require.True(t, found, script)
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), []byte("a:\n\t-go vet\nb:\n\t@go vet\nc:\n\t$(A)\nA=$(B)$(B)\nB=$(A)$(A)\n"),
		0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	require.False(t, Of(root, []string{"env", "--chdir=..", "go", "vet"}).List[0].Sure, "a directory that is not known")
	require.False(t, Of(root, []string{"sh", "-c", `cd "$DIR" && go vet`}).List[0].Sure)
	require.False(t, Of(root, []string{"make", "a"}).List[0].Sure)
	require.True(t, Of(root, []string{"make", "b"}).List[0].Sure)
	require.False(t, Of(root, []string{"make", "c"}).Whole)
}

func FuzzOf(f *testing.F) {
	f.Add("x() { go vet; }; $(a `b`) <<E", "a: b\n\tgo vet $(shell x)\n", `{"scripts":{"test":"a"}}`)
	f.Fuzz(func(t *testing.T, script, makefile, manifest string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"x.sh": script, "Makefile": makefile, "package.json": manifest} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
		}
		root, err := os.OpenRoot(dir)
		require.NoError(t, err)
		defer root.Close()
		for _, command := range [][]string{{"sh", "x.sh"}, {"make"}, {"npm", "test"}, {"sh", "-c", script}} {
			require.LessOrEqual(t, len(Of(root, command).List), maxCalls)
		}
	})
}
