package acceptance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// A manifest whose dependencies change without the lock file that the base commit has is asked about.
func TestLocks(t *testing.T) {
	t.Parallel()
	const mod = "module m\n\ngo 1.26\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/b v1.0.0 // indirect\n)\n"
	for name, c := range map[string]struct {
		path, before, after, lock string
		also                      string
		want                      string
	}{
		"npm": {
			"package.json", `{"dependencies": {"a": "1"}}`, `{"dependencies": {"a": "2"}}`, "package-lock.json", "",
			`package.json:1: the dependency "dependencies.a" changes, and package-lock.json does not change`,
		},
		"npm, with its lock":        {"package.json", `{"dependencies": {"a": "1"}}`, `{"dependencies": {"a": "2"}}`, "package-lock.json", "package-lock.json", ""},
		"npm without a lock":        {"package.json", `{"dependencies": {"a": "1"}}`, `{"dependencies": {"a": "2"}}`, "", "", ""},
		"no dependency":             {"package.json", `{"name": "a", "dependencies": {}}`, `{"name": "b", "dependencies": {}}`, "yarn.lock", "", ""},
		"a workspace":               {"web/package.json", `{}`, `{"devDependencies": {"a": "2"}}`, "pnpm-lock.yaml", "", `web/package.json:1: the dependency "devDependencies.a" is new, and pnpm-lock.yaml does not change`},
		"a nearer lock":             {"web/package.json", `{}`, `{"devDependencies": {"a": "2"}}`, "web/yarn.lock", "web/yarn.lock", ""},
		"go":                        {"go.mod", mod, mod + "\nrequire example.com/c v1.2.0\n", "go.sum", "", `go.mod:10: the dependency "example.com/c" is new, and go.sum does not change`},
		"go, another version":       {"go.mod", mod, "module m\n\ngo 1.26\n\nrequire (\n\texample.com/a v1.0.1\n\texample.com/b v1.0.0\n)\n", "go.sum", "", `go.mod:6: the dependency "example.com/a" changes, and go.sum does not change`},
		"go, not indirect any more": {"go.mod", mod, "module m\n\ngo 1.26\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/b v1.0.0\n)\n", "go.sum", "", ""},
		"go, one less":              {"go.mod", mod, "module m\n\ngo 1.26\n\nrequire example.com/a v1.0.0\n", "go.sum", "", ""},
		"go of test data":           {"p/testdata/go.mod", mod, mod + "\nrequire example.com/c v1.2.0\n", "go.sum", "", ""},
		"cargo":                     {"Cargo.toml", "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n", "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\nc = \"1\"\n", "Cargo.lock", "", `Cargo.toml:5: the dependency "dependencies.c" is new, and Cargo.lock does not change`},
		"cargo, another version":    {"Cargo.toml", "[package]\nversion = \"1.0.0\"\n", "[package]\nversion = \"1.0.1\"\n", "Cargo.lock", "", ""},
		"uv":                        {"pyproject.toml", "[project]\ndependencies = [\"a\"]\n", "[project]\ndependencies = [\"a\", \"b\"]\n", "uv.lock", "", `pyproject.toml:2: the dependency "project.dependencies" changes, and uv.lock does not change`},
		"a group with another one":  {"pyproject.toml", "[dependency-groups]\ndev = [\"a\", {include-group = \"b\"}]\n", "[dependency-groups]\ndev = [\"c\", {include-group = \"b\"}]\n", "uv.lock", "", `pyproject.toml:2: the dependency "dependency-groups.dev.1" changes, and uv.lock does not change`},
		"poetry":                    {"pyproject.toml", "[tool.poetry.group.dev.dependencies]\na = \"1\"\n", "[tool.poetry.group.dev.dependencies]\nb = \"1\"\n", "poetry.lock", "", `pyproject.toml:2: the dependency "tool.poetry.group.dev.dependencies.a" is gone, and poetry.lock does not change`},
		"settings of a linter":      {"pyproject.toml", "[tool.black]\nline-length = 88\n", "[tool.black]\nline-length = 99\n", "uv.lock", "", ""},
		"gems":                      {"Gemfile", "gem 'a'\n", "gem 'a'\ngem 'b', '~> 1'\n", "Gemfile.lock", "", `Gemfile:2: the dependency "b" is new, and Gemfile.lock does not change`},
		"composer":                  {"composer.json", `{"require": {"a/b": "1"}}`, `{"require": {"a/b": "2"}}`, "composer.lock", "", `composer.json:1: the dependency "require.a/b" changes, and composer.lock does not change`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Patch{Task: &spec.Task{}, Changes: []Change{changed(c.path, c.before, c.after)}}
			if c.also != "" {
				p.Changes = append(p.Changes, changed(c.also, "1\n", "2\n"))
			}
			if c.lock != "" {
				p.Locks = []string{c.lock}
				require.Contains(t, LocksOf(p.Changes), c.lock)
			}
			p.prepare()
			got := ""
			for _, f := range locks(p) {
				got += f.String()
			}
			require.Equal(t, c.want, got)
		})
	}
}
