package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// What a command prints is data: only paths of the tree become arguments, and anything else means that the gate runs in full.
func TestNarrowByACommand(t *testing.T) {
	t.Parallel()
	many := "for i in $(seq 2001); do echo a.txt; done"
	for name, c := range map[string]struct {
		script string
		want   []string
		whole  string // a part of the reason
	}{
		"what it reads":        {"cat", []string{"a.txt", "dir/b c.txt"}, ""},
		"paths and labels":     {`printf 'a.txt\r\n\n./dir\ndir/...\n//dir:all\ntests.py::It\n//:x\n...'`, []string{"a.txt", "./dir", "dir/...", "//dir:all", "tests.py::It", "//:x", "..."}, ""},
		"its errors":           {"echo a.txt; echo oops >&2", []string{"a.txt"}, ""},
		"nothing":              {"cat >/dev/null", nil, "prints nothing"},
		"blank lines":          {`printf '\n\n'`, nil, "prints nothing"},
		"words":                {"echo a.txt; echo no such project", nil, `prints "no such project", which is no path of the tree`},
		"what is not there":    {"echo a.txt; echo gone.txt", nil, `prints "gone.txt", which is no path`},
		"a flag":               {"touch -- --all; echo --all", nil, `prints "--all", which`},
		"a path that leaves":   {"echo ../x", nil, `prints "../x", which`},
		"an absolute path":     {"echo /etc/passwd", nil, `prints "/etc/passwd", which`},
		"control characters":   {`touch "$(printf 'a\033')"; printf 'a\033'`, nil, "which is no path"},
		"no text":              {`printf '\377'`, nil, "which is no path"},
		"everything":           {many, nil, "the change affects 2001 targets"},
		"more than is read":    {"for i in $(seq 20000); do echo dir; done", nil, "prints more than 65536 bytes"},
		"an exit code":         {"echo a.txt; exit 3", nil, "sh exited with 3"},
		"a signal":             {"echo a.txt; kill -KILL $$", nil, "sh was ended by signal killed"},
		"a program that lacks": {"", nil, "no-such-program: not found on PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newWhere(t, map[string]string{"a.txt": "", "dir/b c.txt": "", "tests.py": ""})
			g := spec.Gate{Name: "g", Command: []string{"echo", "{affected}"}, Affected: []string{"sh", "-c", c.script}}
			if c.script == "" {
				g.Affected = []string{"no-such-program"}
			}
			require.NoError(t, Narrow(t.Context(), g, &where, Change{Since: "c0", Paths: []string{"a.txt", "dir/b c.txt"}}))
			require.Contains(t, where.Whole, c.whole)
			require.Equal(t, c.want, where.Targets)
			r := run(t, g, where)
			if c.whole == "" {
				require.Empty(t, where.Whole)
				require.Equal(t, "c0", r.Since)
				require.Equal(t, strings.Join(c.want, " "), r.Tail)
				return
			}
			require.Empty(t, r.Since)
			require.Equal(t, where.Whole, r.Whole)
			require.Equal(t, []string{"echo"}, r.Command)
		})
	}
}

func TestNarrowByACommandThatHangs(t *testing.T) {
	t.Parallel()
	where := newWhere(t, map[string]string{"a.txt": ""})
	g := spec.Gate{Name: "g", Command: []string{"echo", "{affected}"}, Affected: []string{"sh", "-c", "echo a.txt; sleep 600"}}
	g.Timeout = spec.Duration(200 * time.Millisecond)
	require.NoError(t, Narrow(t.Context(), g, &where, Change{Since: "c0", Paths: []string{"a.txt"}}))
	require.Equal(t, "sh took longer than 200ms", where.Whole)
	require.Empty(t, where.Targets)
}

func TestNarrowWithoutAChangeThatCanBeNamed(t *testing.T) {
	t.Parallel()
	g := spec.Gate{Name: "g", Command: []string{"echo", "{affected}"}, Affected: []string{"cat"}}
	for want, paths := range map[string][]string{
		"no file has changed":                               {},
		`the changed file "a\nb" cannot be named in a line`: {"a.txt", "a\nb"},
	} {
		where := newWhere(t, map[string]string{"a.txt": ""})
		require.NoError(t, Narrow(t.Context(), g, &where, Change{Since: "c0", Paths: paths}))
		require.Equal(t, want, where.Whole)
	}
}

// Without a command the targets are Go packages.
func TestNarrowByGoImports(t *testing.T) {
	t.Parallel()
	where := newWhere(t, map[string]string{"go.mod": "module m\n", "a/a.go": "package a\n", "b/b.go": "package b\nimport _ \"m/a\"\n"})
	g := spec.Gate{Name: "g", Command: []string{"echo", "{affected}"}}
	files := []string{"go.mod", "a/a.go", "b/b.go"}
	require.NoError(t, Narrow(t.Context(), g, &where, Change{Since: "c0", Paths: []string{"a/a.go"}, Files: files}))
	r := run(t, g, where)
	require.Equal(t, "./a ./b", r.Tail)
	require.Equal(t, g.Command, r.Command)
	require.NoError(t, os.Remove(filepath.Join(where.Dir, "go.mod")))
	where.Targets, where.Since = nil, ""
	require.NoError(t, Narrow(t.Context(), g, &where, Change{Since: "c0", Paths: []string{"a/a.go"}, Files: files}))
	require.Equal(t, "./...", run(t, g, where).Tail)
}
