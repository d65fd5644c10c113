package each

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// scriptEndings are those of JavaScript and TypeScript.
var scriptEndings = []string{".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"}

// propose is a line for --then that gives changed files the form that a repository asks for; "" where it asks for none, or where
// no one program takes all of the files.
func propose(files []string, repo fs.FS, installed func(program string) bool) string {
	all := func(endings ...string) bool {
		other := func(f string) bool { return !slices.Contains(endings, path.Ext(f)) }
		return len(files) > 0 && !slices.ContainsFunc(files, other)
	}
	switch {
	case all(".go") && installed("goimports"):
		return "goimports -w {files}"
	case all(".go") && installed("gofmt"):
		return "gofmt -w {files}"
	case all(".py", ".pyi") && installed("ruff") && asks(repo, "[tool.ruff", "ruff.toml", ".ruff.toml"):
		return "ruff check --fix --exit-zero --quiet {files}"
	case !all(scriptEndings...) || !installed("npx"):
		return ""
	}
	var lines []string
	var manifest struct {
		Dev  map[string]string `json:"devDependencies"`
		Deps map[string]string `json:"dependencies"`
	}
	if data, err := fs.ReadFile(repo, "package.json"); err != nil || json.Unmarshal(data, &manifest) != nil {
		return ""
	}
	for _, tool := range []struct{ name, line string }{
		{"eslint", "npx --no eslint -- --fix {files} || test $? -eq 1"},
		{"prettier", "npx --no prettier -- --log-level warn --write {files}"},
	} {
		if manifest.Dev[tool.name]+manifest.Deps[tool.name] != "" {
			lines = append(lines, tool.line)
		}
	}
	return strings.Join(lines, " && ")
}

// asks reports whether a repository has one of some files, or a section in its pyproject.toml.
func asks(repo fs.FS, section string, files ...string) bool {
	data, err := fs.ReadFile(repo, "pyproject.toml")
	return err == nil && strings.Contains("\n"+string(data), "\n"+section) ||
		slices.ContainsFunc(files, func(f string) bool { _, err := fs.Stat(repo, f); return err == nil })
}
