package grade

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// tree writes files; all are executable.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	return dir
}

// read runs a command in a tree whose files have all changed. Of each file that it did not read it has the grade, with a question
// mark for a question, the reason and the command.
func read(t *testing.T, dir string, files []string, command ...string) map[string]string {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil && !strings.Contains(command[0], "/") {
		t.Skip(err)
	}
	changed, err := FilesOf(dir, files)
	require.NoError(t, err)
	env := append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=", "PYTHONDONTWRITEBYTECODE=", "CI=1")
	run := func(command []string, at string) (string, error) {
		c := exec.CommandContext(t.Context(), command[0], command[1:]...)
		c.Dir, c.Env = filepath.Join(dir, at), env
		out, err := c.CombinedOutput()
		return string(out), err
	}
	r, err := Begin(Gate{
		Name: "gate", Command: command, Dir: dir, Seen: dir, Env: env,
		List: func(_ context.Context, command []string, at string) (string, bool, error) {
			out, err := run(command, at)
			return out, err == nil, nil
		},
	}, changed)
	require.NoError(t, err)
	out, err := run(command, ".")
	require.NoError(t, err, out)
	require.NoError(t, r.End())
	unread, questions, err := r.Grades(t.Context())
	require.NoError(t, err)
	got := map[string]string{}
	for _, u := range unread {
		text := string(u.Grade)
		if slices.Contains(questions, u.Path) {
			text += "?"
		}
		if u.Grade == spec.GradeUnread && u.Reason != "" {
			text += ": " + u.Reason
		}
		if len(u.Command) > 0 {
			text += " | " + strings.Join(u.Command, " ")
		}
		got[u.Path] = text
	}
	return got
}

func names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

var gotree = map[string]string{
	"go.mod": "module m\n\ngo 1.24\n", "a.go": "package m\n", "a_test.go": "package m\n", "win_windows.go": "package m\n",
	"tag.go": "//go:build windows && arm64\n\npackage m\n", "slow.go": "//go:build slow\n\npackage m\n",
	"tool.go": "//go:build ignore\n\npackage main\n", "sub/b.go": "package sub\n", "nested/go.mod": "module n\n",
	"nested/n.go": "package n\n", "_x/x.go": "package x\n", "testdata/broken.go": "package (\n", "README.md": "text\n",
	"embed/e.go": "package embed\n\nimport _ \"embed\"\n\n//go:embed e.txt\nvar e string\n", "embed/e.txt": "e\n",
	"Makefile": "test:\n\tgofmt -l a.go\n\tgo test ./...\nodd:\n\tgofmt -l . || true; go vet ./... || true\npure:\n\tgo vet ./... || exit 1\n",
}

// What the go command compiles is known by its own rules: everything else is unread, with what would compile it.
func TestGo(t *testing.T) {
	t.Parallel()
	outside := map[string]string{
		"win_windows.go": "unread: its name ends in _windows.go | env GOOS=windows go vet .",
		"tag.go":         "unread: //go:build windows && arm64 | env GOOS=windows GOARCH=arm64 go vet .",
		"slow.go":        "unread: //go:build slow | go vet -tags slow .",
		"tool.go":        "unread: //go:build ignore | go vet ./tool.go",
		"nested/n.go":    "unread: nested module nested | go -C nested vet ./...",
		"nested/go.mod":  "unread: no gate opened it",
		"_x/x.go":        "unread: not in the build | go vet ./_x",
	}
	with := func(more map[string]string, but ...string) map[string]string {
		all := maps.Clone(outside)
		maps.Copy(all, more)
		for _, name := range but {
			delete(all, name)
		}
		return all
	}
	data := map[string]string{
		"README.md": "unread: no gate opened it", "Makefile": "unread: no gate opened it",
		"testdata/broken.go": "unread: no gate opened it",
	}
	for name, c := range map[string]struct {
		command string
		want    map[string]string
	}{
		"test":          {"go test ./...", with(data)},
		"build":         {"go build ./...", with(data, "x", "a_test.go")},
		"vet with tags": {"go vet -tags=slow ./...", with(data, "slow.go")},
		"for Windows":   {"env GOOS=windows CGO_ENABLED=0 go vet ./...", with(data, "win_windows.go")},
		"one package":   {"go vet ./sub", with(data)},
		"make": {"make test", with(map[string]string{
			"README.md": data["README.md"], "testdata/broken.go": data["testdata/broken.go"],
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, gotree)
			got := read(t, dir, names(gotree), strings.Fields(c.command)...)
			switch name {
			case "build":
				require.Equal(t, "unread: go build compiles no tests | go vet .", got["a_test.go"])
				delete(got, "a_test.go")
			case "for Windows":
				require.Equal(t, "unread: //go:build windows && arm64 | env GOARCH=arm64 go vet .", got["tag.go"])
				got["tag.go"] = c.want["tag.go"]
			case "one package":
				for _, file := range []string{"a.go", "a_test.go", "embed/e.go"} {
					require.Contains(t, got[file], "unread: not in the build", file)
					delete(got, file)
				}
				delete(got, "embed/e.txt")
			case "make": // gofmt opens files too: of data it is not known
				require.Equal(t, "not known", got["embed/e.txt"])
				delete(got, "embed/e.txt")
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	const test = "import unittest, app\nfrom pkg import used\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        open('data.json').close()\n"
	python := map[string]string{
		"app.py": "", "pkg/__init__.py": "", "pkg/used.py": "", "pkg/unused.py": "", "test_app.py": test, "data.json": "{}", "doc.md": "",
		"check.sh": "set -e\ngrep -r x . || true\npython3 -m unittest\n", "tool.py": "import app\n", "odd.sh": "#!/bin/sh\n$X python3 -m unittest\n",
	}
	node := map[string]string{
		"package.json": `{"scripts":{"test":"node --test"},"type":"module"}`, "a.js": "export const a = 1\n", "b.js": "", "a.test.js": "import './a.js'\n",
	}
	c := map[string]string{
		"main.c": "#include \"a.h\"\nint main(void) { return A; }\n", "a.h": "#define A 0\n", "other.c": "int x;\n",
		"Makefile": "all: main\n\t./main\nmain: main.c\n\t$(CC) -o $@ main.c\nswept:\n\tgrep -c x *.c *.h || true\n\t$(CC) -MMD -c main.c -o main.o\n" +
			"doubt:\n\tcat other.c a.h >/dev/null\n\t$(CC) -o main main.c\n",
	}
	rust := map[string]string{
		"Cargo.toml": "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": "mod a;\npub const T: &str = include_str!(\"t.txt\");\n",
		"src/a.rs": "", "src/b.rs": "", "src/t.txt": "t", "examples/e.rs": "fn main() {}\n",
	}
	const no, opened, odd = "unread: no gate opened it", "not known", "not known?"
	for name, c := range map[string]struct {
		files   map[string]string
		command string
		want    map[string]string
	}{
		"unittest": {python, "python3 -m unittest", map[string]string{
			"pkg/unused.py": no, "doc.md": no, "check.sh": "unread", "odd.sh": "unread", "tool.py": no,
		}},
		"a search besides": {python, "sh check.sh", map[string]string{ // what Python has compiled tells
			"pkg/unused.py": odd, "doc.md": opened, "data.json": opened, "odd.sh": odd, "tool.py": odd,
			"pkg/__init__.py": "", "app.py": "",
		}},
		"a script": {python, "python3 tool.py", map[string]string{
			"pkg/unused.py": no, "pkg/used.py": no, "pkg/__init__.py": no, "test_app.py": no, "doc.md": no, "data.json": no, "check.sh": no,
			"odd.sh": no,
		}},
		"a gate that cannot be followed": {python, "sh odd.sh", map[string]string{
			"pkg/unused.py": no, "doc.md": no, "check.sh": no, "tool.py": no, "data.json": opened, "test_app.py": "",
		}},
		"another language": {python, "true", map[string]string{
			"app.py": "unread", "pkg/__init__.py": "unread", "pkg/used.py": "unread", "pkg/unused.py": "unread", "test_app.py": "unread",
			"tool.py": "unread", "check.sh": "unread", "odd.sh": "unread", "doc.md": no, "data.json": no,
		}},
		"node":                 {node, "npm test", map[string]string{"b.js": no}},
		"make":                 {c, "make", map[string]string{"other.c": "unread: not in the build"}},
		"dependency files":     {c, "make swept", map[string]string{"other.c": odd}},
		"what was only copied": {c, "make doubt", map[string]string{"other.c": odd, "a.h": odd, "main.c": odd}},
		"cargo": {rust, "cargo check --offline", map[string]string{
			"src/b.rs": "unread: not in the build", "examples/e.rs": "unread: not in the build",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, tree(t, c.files), names(c.files), strings.Fields(c.command)...)
			for file, want := range c.want {
				if want == "" {
					delete(c.want, file)
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
