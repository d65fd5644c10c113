package configs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestProjectDefaults(t *testing.T) {
	t.Parallel()
	p, err := Project(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, spec.Limits{Turns: 50, Tokens: 1_000_000, Time: spec.Duration(30 * time.Minute)}, p.Limits)
	require.Equal(t, 16, p.Parallel)
	require.Zero(t, p.Budget)
	require.Equal(t, "gemini", p.Models["default"].Provider)
	require.Zero(t, p.Models["default"].PriceOut, "the table of models has its price")
	for alias, m := range p.Models {
		require.NotEmpty(t, m.Fallback, alias)
	}
	summarized := spec.ToolOutput{Policy: spec.OutputSummarize, Limit: 8_000}
	require.Equal(t, map[string]spec.ToolOutput{"run_command": summarized, "search": summarized}, p.ToolOutput)
	require.Empty(t, p.Gates, "gates are detected")
	writes := spec.WriteSet{Protected: p.Protected}
	for _, name := range []string{
		".github/workflows/ci.yml", ".gitlab-ci.yml", ".golangci.yml", ".divisi/divisi.yaml", "Makefile", "sub/makefile",
		"web/eslint.config.mjs", "ruff.toml", "azure-pipelines.yaml", "a/.gitattributes", "unittest.py", "src/pytest/__init__.py",
		".vscode/tasks.json", ".VSCode/tasks.json", "AGENTS.md", "web/.npmrc",
	} {
		require.Contains(t, writes.Refuse(name), "protected", name)
	}
	for _, name := range []string{
		"main.go", "testing.go", "github/a.go", "pkg/protest.py", "docs/agents.go", "tests/unittest/__init__.py", "make.go",
		"a_test.go", "x/testdata/a", "web/a.test.tsx", "tests/unit.py", "conftest.py", "src/FooTest.java",
	} {
		require.Empty(t, writes.Refuse(name), name)
	}
}

// A project's own policies and summaries win, tool by tool, and their faults are found.
func TestProjectOutputs(t *testing.T) {
	t.Parallel()
	summarized := spec.ToolOutput{Policy: spec.OutputSummarize, Limit: 8_000}
	for text, want := range map[string]map[string]spec.ToolOutput{
		"tool_output: {search: {policy: raw}}":            {"search": {Policy: "raw"}, "run_command": summarized},
		"tool_output: {'*': {policy: keep}}":              {"*": {Policy: "keep"}},
		"summaries: {model: a, tokens: 100, prompt: 'x'}": {"search": summarized, "run_command": summarized},
	} {
		p, err := ParseProject("divisi.yaml", text)
		require.NoError(t, err)
		require.Equal(t, want, p.ToolOutput, text)
	}
	for text, fault := range map[string]string{
		"tool_output: {serch: {policy: keep}}": `divisi.yaml:1:15: there is no tool "serch"`,
		"tool_output: {search: {limit: 3}}":    "limit 3 is not from 1000 to 40000 characters",
		"summaries: {tokens: 9000}":            "9000 is not from 100 to 3000 tokens",
		"summaries: {tokns: 900}":              `unknown field "tokns"`,
	} {
		_, err := ParseProject("divisi.yaml", text)
		require.ErrorContains(t, err, fault)
	}
}

func TestProjectFile(t *testing.T) {
	t.Parallel()
	repo := repository(t, map[string]string{projectFile: `
setup: [go, mod, download]
gates:
  - name: test
    command: [go, test, -json, ./...]
    format: go-test-json
    timeout: 10m
models:
  default: {name: local, provider: openai}
  tiny: {name: t, price_in: 1}
limits: {turns: 7}
protected: []
env: [GOFLAGS]
budget: 2_000_000
`})
	p, err := Project(repo)
	require.NoError(t, err)
	require.Equal(t, []string{"go", "mod", "download"}, p.Setup.Command)
	require.Equal(t, spec.Duration(10*time.Minute), p.Gates[0].Timeout)
	require.Equal(t, spec.Model{Name: "local", Provider: "openai"}, p.Models["default"])
	require.Equal(t, spec.Model{Name: "t", Provider: "gemini", PriceIn: 1}, p.Models["tiny"])
	require.Contains(t, p.Models, "strong")
	require.Equal(t, spec.Limits{Turns: 7, Tokens: 1_000_000, Time: spec.Duration(30 * time.Minute)}, p.Limits)
	require.Empty(t, p.Protected, "an empty list protects nothing, on purpose")
	require.Equal(t, spec.Tokens(2_000_000), p.Budget)
}

func TestSetupWithAKey(t *testing.T) {
	t.Parallel()
	p, err := ParseProject("divisi.yaml", "setup: {command: [npm, ci], key: [package-lock.json, sub/go.sum]}")
	require.NoError(t, err)
	require.Equal(t, spec.Setup{Command: []string{"npm", "ci"}, Key: []string{"package-lock.json", "sub/go.sum"}}, p.Setup)
	for _, setup := range []spec.Setup{p.Setup, {Command: []string{"npm", "ci"}}, {}} {
		text, err := YAML(spec.Project{Setup: setup})
		require.NoError(t, err)
		p, err := ParseProject("divisi.yaml", text)
		require.NoError(t, err)
		require.Equal(t, setup, p.Setup, text)
	}
	for text, want := range map[string]string{
		"setup: {command: [a], key: ['*.sum']}":      `1:29: "*.sum" is a glob: the key names single files`,
		"setup: {command: [a], key: [docs/]}":        `1:29: "docs/" is a directory: the key names single files`,
		"setup: {command: [a], key: [../go.sum]}":    `1:29: "../go.sum": the path leaves the repository`,
		"setup: {command: [a], key: [/etc/passwd]}":  `1:29: "/etc/passwd": the path is not relative to the repository`,
		"setup: {command: [a], key: [./go.sum]}":     `1:29: "./go.sum": the path is not in its plain form (did you mean "go.sum"?)`,
		"setup: {command: [a], key: [a, .git/HEAD]}": `1:32: ".git/HEAD": the path reaches into .git`,
		"setup: {key: [go.sum]}":                     "1:14: setup.key needs setup.command",
		"setup: {command: [''], key: [a]}":           "1:19: the program's name is empty",
		"setup: {command: go mod, key: [a]}":         `(did you mean "[go, mod]"?)`,
		"setup: {comand: [a]}":                       `(did you mean "command"?)`,
	} {
		_, err := ParseProject("x.yaml", text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestProjectFaults(t *testing.T) {
	t.Parallel()
	_, err := ParseProject("divisi.yaml", "gatse: []\ngates:\n  - name: a b\n"+
		"    comand: [x]\n    timeout: -5s\nmodels: [a]\nparallel: -1\nenv: PATH\n")
	for _, want := range []string{
		"divisi.yaml: 7 errors", `1:1: unknown field "gatse"`, `(did you mean "gates"?)`, `3:11: gate name "a b"`,
		`4:5: unknown field "comand"; the fields are name, command, affected, full, format, paths, timeout (did you mean "command"?)`,
		`5:14: gates[0].timeout: "-5s" is negative`, "6:9: models is not a table of names", "7:11: -1 is below 0",
		`8:6: env is not a list (did you mean "[PATH]"?)`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = ParseProject("divisi.yaml", "a: 1\n---\nb: 2\n")
	require.ErrorContains(t, err, "more than one document")
	_, err = ParseProject("divisi.yaml", strings.Repeat("a: 1\n", maxFields+1))
	require.ErrorContains(t, err, "more than 2000 fields in one place")
	p, err := ParseProject("divisi.yaml", "# nothing but a comment\n")
	require.NoError(t, err)
	require.Equal(t, 16, p.Parallel)
}

func TestAWrittenZeroOfDelegationIsNoDefault(t *testing.T) {
	t.Parallel()
	_, err := ParseProject("d.yaml", "delegation:\n  depth: 0\n  fan_out: -2\n")
	require.ErrorContains(t, err, "d.yaml: 2 errors")
	require.ErrorContains(t, err, "d.yaml:2:10: depth is from 1 on; leave `delegate` out of a role's tools to have none")
	require.ErrorContains(t, err, "d.yaml:3:12: -2 is below 1")
	_, err = ParseProject("d.yaml", "delegation: {depth: 0, fan_out: 0}")
	require.ErrorContains(t, err, "2 errors")
	_, err = ParseProject("d.yaml", "delegation: {depth: deep}")
	require.ErrorContains(t, err, "1 error\n", "what cannot be read is no zero")
	for text, want := range map[string]spec.Delegation{
		"": {Depth: 3, FanOut: 8}, "delegation:": {Depth: 3, FanOut: 8}, "delegation: {depth: }": {Depth: 3, FanOut: 8},
		"delegation: {depth: 1}": {Depth: 1, FanOut: 8},
	} {
		p, err := ParseProject("d.yaml", text)
		require.NoError(t, err, text)
		require.Equal(t, want, p.Delegation, text)
	}
}

func TestATabInTheIndentationIsCalledOne(t *testing.T) {
	t.Parallel()
	for text, where := range map[string]string{
		"limits:\n\tturns: 5\n": "2:1", "\tparallel: 5\n": "1:1", "gates:\n  - name: x\n \tcommand: [y]\n": "3:2",
		"parallel: 3\nsetup: |\n\tx\n": "3:1", "limits:\n  turns: 5\n\t  tokens: 6\n": "3:1", "limits:\r\n\tturns: 5\r\n": "2:1",
		"gates:\n  -\tname: x\n    command: [y]\n": "2:4",
	} {
		_, err := ParseProject("d.yaml", text)
		require.ErrorContains(t, err, "d.yaml: 1 error\n  d.yaml:"+where+
			": YAML is indented with spaces: replace this tab\n", "%q", text)
	}
	_, err := ParseProject("d.yaml", "limits: {turns: 5,\n\ttokens: 6\n")
	require.ErrorContains(t, err, "d.yaml:1:9: could not find", "another fault is told as what it is")
}

// Whoever follows the words about a lone value gets the list that was meant.
func TestAListIsShownSoThatItCanBeWrittenDown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"**/*_test.go", "!x", "%x", "@x", "{a,b}/*", "[ab].go", "&x", "`x`", "a, b", "a,b", "- x", "-", "null", "a: b", "a #b", "#a", "?",
		"it's", "a b", "x:", "'x'", `"x"`, "|", ">", "~", "Makefile", "-x", "5", "true", "*.go", "",
	} {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		_, err = ParseProject("d.yaml", "env: "+string(quoted)+"\n")
		fault := new(FileError)
		require.ErrorAs(t, err, &fault, text)
		require.Equal(t, "env is not a list", fault.Faults[0].Message)
		d := newDocument("d.yaml", "")
		var read spec.Project
		d.read("env: "+fault.Faults[0].Suggest, projectSchema(), &read)
		require.NoError(t, d.err(), fault.Faults[0].Suggest)
		require.Equal(t, []string{text}, read.Env)
	}
	for text, want := range map[string]string{
		"protected: '**/*_test.go'": `(did you mean "['**/*_test.go']"?)`, "setup: go test ./... -x": `(did you mean "[go, test, ./..., -x]"?)`,
		"setup: npm run build:all": `(did you mean "[npm, run, 'build:all']"?)`,
	} {
		_, err := ParseProject("d.yaml", text)
		require.ErrorContains(t, err, want)
	}
	for _, text := range []string{"gates: 5", "setup: a && b", "env: |\n  a\n  b\n"} {
		_, err := ParseProject("d.yaml", text)
		require.ErrorContains(t, err, "is not a list")
		require.NotContains(t, err.Error(), "did you mean", text)
	}
}

func TestProjectThatCannotBeRead(t *testing.T) {
	t.Parallel()
	repo := repository(t, map[string]string{projectFile + "/x": ""})
	_, err := Project(repo)
	require.ErrorContains(t, err, "it is not a regular file")
	_, err = Project(filepath.Join(repo, "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzParseProject(f *testing.F) {
	text, err := embedded.ReadFile("divisi.yaml")
	require.NoError(f, err)
	f.Add(string(text))
	f.Add("gates: [{name: x, command: [y], timeout: 1h}]\nmodels: {a: {price_in: .nan}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxProject {
			return
		}
		p, err := ParseProject("fuzz.yaml", text)
		checkFaults(t, err)
		if err == nil {
			require.Empty(t, p.Validate())
		}
	})
}

func TestEnvironmentOfTheCheckout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]spec.Environment{
		"environment: checkout":                {Word: "checkout"},
		"environment: [node_modules, a/.venv]": {Paths: []string{"node_modules", "a/.venv"}},
		"environment: []":                      {Paths: []string{}},
		"":                                     {},
	} {
		p, err := ParseProject("divisi.yaml", text)
		require.NoError(t, err, text)
		require.Equal(t, want, p.Environment, text)
		written, err := YAML(spec.Project{Environment: want})
		require.NoError(t, err)
		p, err = ParseProject("divisi.yaml", written)
		require.NoError(t, err, written)
		require.Equal(t, want.IsZero(), p.Environment.IsZero(), written)
	}
	for text, want := range map[string]string{
		"environment: chekout":                   `x.yaml:1:14: environment "chekout" is not one of checkout (did you mean "checkout"?)`,
		"environment: {a: b}":                    "x.yaml:1:14: environment is neither a text nor a list",
		"environment: [../x]":                    `x.yaml:1:15: "../x": the path leaves the repository`,
		"environment: [a, /etc]":                 `x.yaml:1:18: "/etc": the path is not relative to the repository`,
		"environment: [~/x]":                     `"~/x": the path is not relative to the repository`,
		"environment: [a/../../x]":               `"a/../../x": the path leaves the repository`,
		"environment: [.]":                       "is the whole checkout",
		"environment: [./a]":                     `(did you mean "a"?)`,
		"environment: [a/]":                      `(did you mean "a"?)`,
		"environment: ['*.txt']":                 `"*.txt" is a glob`,
		"environment: [.git]":                    "the path reaches into .git",
		"environment: [.env]":                    `x.yaml:1:15: ".env" is never taken`,
		"environment: [a, conf/.aws]":            `x.yaml:1:18: "conf/.aws" is never taken`,
		"environment: [a, a]":                    `"a" is in the list twice`,
		"environment: [a/b, a]":                  `x.yaml:1:15: "a/b" lies in "a", which is in the list too`,
		"environment: checkout\nsetup: [npm,ci]": "x.yaml:1:14: setup makes the environment already",
	} {
		_, err := ParseProject("x.yaml", text)
		require.ErrorContains(t, err, want, text)
	}
}
