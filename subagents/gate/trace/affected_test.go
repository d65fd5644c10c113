package trace

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is a tree whose packages import one another: app -> mid -> base, and the tests of spec -> base.
func module() map[string]string {
	return map[string]string{
		"go.mod":                 "module example.com/m\n",
		"base/b.go":              goFile(),
		"base/b_test.go":         goFile("example.com/m/base"),
		"base/testdata/in/x.txt": "x",
		"mid/m.go":               goFile("example.com/m/base"),
		"app/main.go":            "package main\nimport _ \"example.com/m/mid\"\n",
		"spec/s.go":              goFile("fmt"),
		"spec/s_test.go":         goFile("example.com/m/base"),
		"over/o.go":              goFile("example.com/m/spec"),
		"alone/a.go":             goFile(),
		"README.md":              "text",
	}
}

func affected(t *testing.T, dir string, command []string, changed ...string) ([]string, string) {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, err := filepath.Rel(dir, p)
			require.NoError(t, err)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	}))
	targets, whole, err := Affected(dir, command, files, changed)
	require.NoError(t, err)
	return targets, whole
}

func TestAffected(t *testing.T) {
	t.Parallel()
	test, build := []string{"go", "test", "-json", "{affected}"}, []string{"go", "build", "{affected}"}
	for name, c := range map[string]struct {
		add     map[string]string
		command []string
		changed []string
		want    []string
		whole   string
	}{
		"the importers, and those whose tests import it": {
			nil, test,
			[]string{"base/b.go"},
			[]string{"./app", "./base", "./mid", "./spec"},
			"",
		},
		"tests alone": {nil, test, []string{"base/b_test.go"}, []string{"./base"}, ""},
		"a file that was deleted from a package that is left": {
			nil, test,
			[]string{"base/gone.go", "alone/a.go"},
			[]string{"./alone", "./app", "./base", "./mid", "./spec"},
			"",
		},
		"testdata belongs to the package above it": {
			nil, test,
			[]string{"alone/testdata/deep/x.go"},
			[]string{"./alone"},
			"",
		},
		"the package at the top": {map[string]string{"top.go": goFile()}, test, []string{"top.go", "testdata/x"}, []string{"."}, ""},
		"a deleted package":      {nil, test, []string{"gone/g.go"}, nil, "gone/g.go is outside the Go packages that the gate tests"},
		"go.mod":                 {nil, test, []string{"base/b.go", "go.mod"}, nil, "go.mod is outside the Go packages that the gate tests"},
		"what a package may embed": {
			nil, test, []string{"base/page.html"}, nil, "base/page.html is outside the Go packages that the gate tests",
		},
		"vendored": {
			map[string]string{"vendor/x.org/y/y.go": goFile()},
			test,
			[]string{"vendor/x.org/y/y.go"},
			nil,
			"vendor/x.org/y/y.go is outside the Go packages that the gate tests",
		},
		"what no build here has is left out": {
			map[string]string{
				"base/x_plan9.go": goFile(), "nine/n_plan9.go": goFile("example.com/m/base"),
				"tools/t.go": "//go:build tools\n\n" + goFile("example.com/m/base"),
			},
			test,
			[]string{"base/x_plan9.go"},
			[]string{"./app", "./base", "./mid", "./spec"},
			"",
		},
		"a tag that the command names": {
			map[string]string{"tools/t.go": "//go:build tools\n\n" + goFile("example.com/m/alone")},
			[]string{"go", "test", "-tags", "a,tools", "{affected}"},
			[]string{"alone/a.go"},
			[]string{"./alone", "./tools"},
			"",
		},
		"a tag in a script": {
			map[string]string{"tools/t.go": "//go:build tools\n\n" + goFile("example.com/m/alone")},
			[]string{"sh", "-c", `go vet --tags 'tools' "$@"`, "sh", "{affected}"},
			[]string{"alone/a.go"},
			nil, "not every build has the package tools",
		},
		"a package that only has tests, for go test": {
			map[string]string{"only/o_test.go": goFile("example.com/m/alone")},
			test,
			[]string{"alone/a.go"},
			[]string{"./alone", "./only"},
			"",
		},
		"a package that only has tests, for go build": {
			map[string]string{"only/o_test.go": goFile("example.com/m/alone")},
			build,
			[]string{"alone/a.go"},
			nil, "not every build has the package only",
		},
		"a program alone, for go test":  {nil, test, []string{"app/main.go"}, []string{"./app"}, ""},
		"a program alone, for go build": {nil, build, []string{"app/main.go"}, nil, "go build on a single main package would write its program"},
		"a package that needs cgo": {
			map[string]string{"c/c.go": goFile("C", "example.com/m/alone")},
			test,
			[]string{"alone/a.go"},
			nil, "not every build has the package c",
		},
		"a package of this system alone, for go": {
			map[string]string{"sys/s_" + runtime.GOOS + ".go": goFile("example.com/m/alone")},
			test,
			[]string{"alone/a.go"},
			[]string{"./alone", "./sys"},
			"",
		},
		"a package of this system alone, for a script that may build for another": {
			map[string]string{"sys/s_" + runtime.GOOS + ".go": goFile("example.com/m/alone")},
			[]string{"sh", "-c", `GOOS=js go vet "$@"`, "sh", "{affected}"},
			[]string{"alone/a.go"},
			nil, "not every build has the package sys",
		},
		"go build -o without a program": {
			nil,
			[]string{"sh", "-c", `go build -o bin/ "$@"`, "sh", "{affected}"},
			[]string{"alone/a.go"},
			nil, "go build -o needs a program",
		},
		"nothing that is built": {
			map[string]string{"nine/n_plan9.go": goFile()},
			test,
			[]string{"nine/n_plan9.go"},
			nil, "the change affects no package that is built here",
		},
		"a file that does not parse": {
			map[string]string{"bad/b.go": "package"}, test, []string{"bad/b.go"}, []string{"./bad"}, "",
		},
		"a name that go cannot import": {
			map[string]string{"a b/x.go": goFile()},
			test,
			[]string{"a b/x.go"},
			nil,
			"a b/x.go is outside the Go packages that the gate tests",
		},
		"through another module of the workspace": {
			map[string]string{
				"go.work": "use (\n\t.\n\t./lib\n)\n", "lib/go.mod": "module x.org/lib\n", "lib/l.go": goFile("example.com/m/alone"),
				"user/u.go": goFile("x.org/lib"),
			},
			test,
			[]string{"alone/a.go"},
			[]string{"./alone", "./user"},
			"",
		},
		"a file of another module": {
			map[string]string{"lib/go.mod": "module x.org/lib\n", "lib/l.go": goFile()},
			test,
			[]string{"lib/l.go"},
			nil, "lib/l.go is outside the Go packages that the gate tests",
		},
		"a gate of another module": {
			map[string]string{"lib/go.mod": "module x.org/lib\n", "lib/l.go": goFile(), "lib/in/i.go": goFile("x.org/lib")},
			[]string{"go", "-C", "lib", "test", "{affected}"},
			[]string{"lib/l.go"},
			[]string{".", "./in"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := module()
			maps.Copy(tree, c.add)
			targets, whole := affected(t, plant(t, tree), c.command, c.changed...)
			require.Equal(t, c.whole, whole)
			require.Equal(t, c.want, targets)
		})
	}
}

func TestAffectedWithoutAModule(t *testing.T) {
	t.Parallel()
	_, whole := affected(t, plant(t, map[string]string{"a.go": goFile()}), []string{"go", "test", "{affected}"}, "a.go")
	require.Equal(t, "there is no go.mod where the gate works", whole)
}

// A file behind a symbolic link is not read: it has another path, or is not of the tree.
func TestAffectedReadsNothingBehindALink(t *testing.T) {
	t.Parallel()
	dir := plant(t, module())
	outside := plant(t, map[string]string{"x.go": goFile("example.com/m/alone")})
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	targets, whole, err := Affected(dir, []string{"go", "test"}, append(slices.Collect(maps.Keys(module())), "link/x.go"), []string{"alone/a.go"})
	require.NoError(t, err)
	require.Empty(t, whole)
	require.Equal(t, []string{"./alone"}, targets)
}
