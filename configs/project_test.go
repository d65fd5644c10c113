package configs

import (
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
	require.Equal(t, 4, p.Parallel)
	require.Zero(t, p.Budget)
	require.Equal(t, "gemini", p.Models["default"].Provider)
	require.Positive(t, p.Models["default"].PriceOut)
	require.Empty(t, p.Gates, "gates are detected")
	writes := spec.WriteSet{Protected: p.Protected}
	for _, name := range []string{
		"a_test.go", "x/y_test.go", "x/testdata/a", "web/a.test.tsx", "web/__tests__/a.js",
		"tests/unit.py", "pkg/test_a.py", "conftest.py",
		"src/FooTest.java", ".github/workflows/ci.yml", ".gitlab-ci.yml", ".golangci.yml", ".divisi/divisi.yaml", "Makefile",
		"web/eslint.config.mjs", "ruff.toml", "azure-pipelines.yaml", "a/.gitattributes",
	} {
		require.Contains(t, writes.Refuse(name), "protected", name)
	}
	for _, name := range []string{
		"main.go", "testing.go", "contest/a.go", "src/latest.ts", "github/a.go", "pkg/protest.py",
		"spec.go", "internal/spec.go",
	} {
		require.Empty(t, writes.Refuse(name), name)
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
	require.Equal(t, []string{"go", "mod", "download"}, p.Setup)
	require.Equal(t, spec.Duration(10*time.Minute), p.Gates[0].Timeout)
	require.Equal(t, spec.Model{Name: "local", Provider: "openai"}, p.Models["default"])
	require.Equal(t, spec.Model{Name: "t", Provider: "gemini", PriceIn: 1}, p.Models["tiny"])
	require.Contains(t, p.Models, "strong")
	require.Equal(t, spec.Limits{Turns: 7, Tokens: 1_000_000, Time: spec.Duration(30 * time.Minute)}, p.Limits)
	require.Empty(t, p.Protected, "an empty list protects nothing, on purpose")
	require.Equal(t, 2_000_000, p.Budget)
}

func TestProjectFaults(t *testing.T) {
	t.Parallel()
	_, err := ParseProject("divisi.yaml", "gatse: []\ngates:\n  - name: a b\n"+
		"    comand: [x]\n    timeout: -5s\nmodels: [a]\nparallel: -1\nenv: PATH\n")
	for _, want := range []string{
		"divisi.yaml: 7 faults", `1:1: unknown field "gatse"`, `(did you mean "gates"?)`, `3:11: gate name "a b"`,
		`4:5: unknown field "comand"; the fields are name, command, format, timeout (did you mean "command"?)`,
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
	require.Equal(t, 4, p.Parallel)
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
