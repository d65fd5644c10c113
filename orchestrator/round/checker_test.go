package round

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestCheckers(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][3]string{ // how the gate runs, what fixes, what writes the tool's own file
		"ruff check .":                                     {"ruff check .", "1 ruff check --fix .", ""},
		"uv run ruff check --output-format x":              {"uv run ruff check --output-format x", "1 uv run ruff check --fix --output-format x", ""},
		"ruff check --no-fix src":                          {"ruff check --no-fix src", "1 ruff check --fix src", ""},
		"npx eslint src":                                   {"npx eslint src", "1 npx eslint --fix src", "npx eslint --suppress-all src"},
		"node node_modules/eslint/bin/eslint.js -f unix .": {"node node_modules/eslint/bin/eslint.js -f unix .", "1 node node_modules/eslint/bin/eslint.js --fix -f unix .", "node node_modules/eslint/bin/eslint.js --suppress-all -f unix ."},
		"biome ci src":                                     {"biome ci --reporter=sarif src", "1 biome check --write src", ""},
		"go tool golangci-lint run":                        {"go tool golangci-lint run", "1 go tool golangci-lint run --fix", ""},
		"go vet ./...":                                     {"go vet ./...", "1 go vet -fix ./...", ""},
		"cargo clippy -- -W x":                             {"cargo clippy -- -W x", "101 cargo clippy --fix --allow-dirty --allow-staged -- -W x", ""},
		"cargo check":                                      {"cargo check", "101 cargo fix --allow-dirty --allow-staged", ""},
		"vendor/bin/phpstan analyse":                       {"vendor/bin/phpstan analyse --error-format=raw", "", "vendor/bin/phpstan analyse --generate-baseline"},
		"ruff format --check .":                            {}, "go test ./...": {}, "make lint": {}, "": {}, "sh -c eslint\\ .": {},
	} {
		c := CheckerOf(strings.Fields(command), nil)
		fix := strings.Join(c.Fix, " ")
		fix = strings.TrimPrefix(fix, `sh -c "$@" || test $? -eq `)
		fix = strings.Replace(fix, " sh ", " ", 1)
		require.Equal(t, want, [3]string{strings.Join(c.Gate, " "), fix, strings.Join(c.Baseline, " ")}, command)
	}
}

// A tool that takes single files fixes those of a task, in the place of the paths that it checks.
func TestOwnFixesOfSingleFiles(t *testing.T) {
	t.Parallel()
	isPath := func(arg string) bool {
		return slices.Contains([]string{".", "src", "test", "ruff.toml", "src/a.py"}, arg)
	}
	for command, want := range map[string]string{
		"ruff check .":                             "ruff check --fix {files}",
		"ruff check":                               "ruff check --fix {files}",
		"ruff check --no-cache src test --quiet":   "ruff check --fix --no-cache --quiet {files}",
		"ruff check --config ruff.toml src/a.py":   "ruff check --fix --config ruff.toml {files}",
		"npx eslint src --max-warnings 0":          "npx eslint --fix --max-warnings 0 {files}",
		"golangci-lint run ./...":                  "golangci-lint run --fix ./...",
		"node node_modules/eslint/bin/eslint.js .": "node node_modules/eslint/bin/eslint.js --fix {files}",
	} {
		c := CheckerOf(strings.Fields(command), isPath)
		_, fix, _ := strings.Cut(strings.Join(c.Fix, " "), " sh ")
		require.Equal(t, want, fix, command)
		require.Equal(t, strings.Contains(want, spec.ArgFiles), c.ByFile, command)
	}
}
