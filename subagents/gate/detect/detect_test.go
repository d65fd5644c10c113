package detect

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// of makes the proposal for files with their content.
func of(files map[string]string, o Options) Proposal {
	return Of(slices.Sorted(maps.Keys(files)), func(file string) ([]byte, error) {
		text, ok := files[file]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}, o)
}

func TestGates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing": {map[string]string{"README.md": ""}, nil},
		"go": {
			map[string]string{"go.mod": "module x", "tools/go.mod": "module t", "Makefile": "test:\n\tgo test"},
			[]string{"go-build: go build ./...", "go-test: go test -json ./..."},
		},
		"a go package that cannot be imported": {
			map[string]string{"go.mod": "", "zoë/a.go": ""}, []string{"go-test: go test -json ./..."},
		},
		"a module in a directory with other letters": {
			map[string]string{"zoë/go.mod": "", "zoë/a.go": "", "zoë/testdata/é/a.go": ""},
			[]string{"go-build-zo: go -C zoë build ./...", "go-test-zo: go -C zoë test -json ./..."},
		},
		"go below": {
			map[string]string{"svc/go.mod": "", "svc/a.go": "", "svc/deep/go.mod": "", "testdata/go.mod": "", ".x/go.mod": ""},
			[]string{"go-build-svc: go -C svc build ./...", "go-test-svc: go -C svc test -json ./..."},
		},
		"go workspace": {
			map[string]string{
				"go.work":  "go 1.26\nuse ./a // first\nuse (\n\t./b\n\t\"../out\"\n\t./gone\n)\nreplace x => ./c\n",
				"a/go.mod": "",
				"b/go.mod": "",
				"c/go.mod": "",
			},
			[]string{
				"go-build-a: go -C a build ./...", "go-test-a: go -C a test -json ./...",
				"go-build-b: go -C b build ./...", "go-test-b: go -C b test -json ./...",
			},
		},
		"npm": {
			map[string]string{"package.json": `{"scripts":{"test":"vitest run"}}`},
			[]string{"npm-test: npm test -- --reporter=tap-flat"},
		},
		"pnpm": {
			map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""},
			[]string{"pnpm-test: pnpm test"},
		},
		"npm without tests": {
			map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`},
			nil,
		},
		"broken package.json": {map[string]string{"package.json": `{`}, nil},
		"pytest": {
			map[string]string{"pyproject.toml": "[tool.pytest.ini_options]", "tests/test_a.py": ""},
			[]string{"pytest: python3 -m pytest -q -rfE --junitxml=.divisi-pytest.xml"},
		},
		"python, no tests":  {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]", "a.py": ""}, nil},
		"a stray test file": {map[string]string{"scripts/test_it.py": ""}, nil},
		"cargo":             {map[string]string{"Cargo.toml": ""}, []string{"cargo-test: cargo test --workspace --no-fail-fast"}},
		"make":              {map[string]string{"Makefile": "all: x\n\ntest: all\n\t./t"}, []string{"make-test: make test"}},
		"make without test": {map[string]string{"Makefile": "tests:\n\t./t\ntest := 1\n"}, nil},
		"two languages": {
			map[string]string{"Cargo.toml": "", "package.json": `{"scripts":{"test":"x"}}`},
			[]string{"npm-test: npm test", "cargo-test: cargo test --workspace --no-fail-fast"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gates := of(c.files, Options{}).Gates
			var got []string
			for _, g := range gates {
				got = append(got, g.Name+": "+strings.Join(g.Command, " "))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestDetectWithoutReading(t *testing.T) {
	t.Parallel()
	p := Of([]string{"package.json", "Makefile", "go.work", "pnpm-lock.yaml"}, func(string) ([]byte, error) {
		return nil, errors.New("broken disk")
	}, Options{Whole: true})
	require.Equal(t, Proposal{}, p)
}

// problemsOf asks the contract itself: what is proposed must be what a project file may say.
func problemsOf(p Proposal) []spec.Problem {
	project := spec.Project{Gates: p.Gates, Setup: spec.Setup{Command: p.Setup}}
	return project.Validate()
}

func TestProposedNamesAreValid(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("very-long/", 12)
	files := []string{"go.work", "a/b/go.mod", "a-b/go.mod", "ä ö/go.mod", deep + "one/go.mod", deep + "two/go.mod"}
	work := "use (\n./a/b\n./a-b\n\"ä ö\"\n" + deep + "one\n" + deep + "two\n)\n"
	p := Of(files, func(string) ([]byte, error) { return []byte(work), nil }, Options{})
	require.NotEmpty(t, p.Gates)
	require.Empty(t, problemsOf(p))
}
