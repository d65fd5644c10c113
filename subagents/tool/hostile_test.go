//go:build unix

package tool

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// hostile is a tree with everything in it that is no ordinary file.
func hostile(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, map[string]string{
		"a.txt": "one\n", "dir/b.go": "package b\n", ".git/config": "secret\n",
		"bin": "a\x00b\n",
	}, nil)
	in := func(name string) string { return filepath.Join(b.dir, name) }
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret\n"), 0o600))
	for name, target := range map[string]string{
		"out": outside, "outdir": filepath.Dir(outside), "up": "../../x", "loop": "loop", "git": ".git", "zero": "/dev/zero",
		"proc": "/proc/self/root", "dangling": "nowhere",
	} {
		require.NoError(t, os.Symlink(target, in(name)))
	}
	require.NoError(t, os.Link(outside, in("hard")))
	require.NoError(t, syscall.Mkfifo(in("fifo"), 0o600))
	require.NoError(t, os.WriteFile(in("huge"), nil, 0o600))
	require.NoError(t, os.Truncate(in("huge"), 1<<40)) // whoever reads all of it does not come back
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", short(in("socket"), 100))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	if err := syscall.Mknod(in("device"), syscall.S_IFCHR|0o600, 1<<8|5); err != nil { // only for root
		require.NoError(t, syscall.Mkfifo(in("device"), 0o600))
	}
	return b
}

// bad are paths that no file tool takes.
var bad = []string{
	"../x", "dir/../../x", "/etc/passwd", "~/x", "a\x00b", "a\nb", `a\b`, strings.Repeat("a/", 2500), strings.Repeat("a",
		5000), "\x7f",
	"out", "outdir/secret", "up", "loop", "loop/x", "zero", "proc/etc/passwd", "git/config", ".git/config", ".GIT/config",
	"git~1/config",
	".git./config", "fifo", "device", "socket", "a.txt/x", "fifo/x",
}

// fileCalls are the calls of each tool on one path.
func fileCalls(path string) map[string]Call {
	return map[string]Call{
		"list":   {Name: spec.ToolListFiles, Args: args{"path": path}},
		"glob":   {Name: spec.ToolGlob, Args: args{"path": path, "patterns": []any{"*"}}},
		"read":   {Name: spec.ToolReadFile, Args: args{"path": path}},
		"search": {Name: spec.ToolSearch, Args: args{"path": path, "pattern": "e"}},
		"outl":   {Name: spec.ToolOutline, Args: args{"paths": []any{path}}},
		"edit":   {Name: spec.ToolEditFile, Args: oneEdit(path, "secret", "x")},
		"write":  {Name: spec.ToolWriteFile, Args: args{"path": path, "content": "x"}},
	}
}

func TestHostilePaths(t *testing.T) {
	t.Parallel()
	b := hostile(t)
	before := b.everything()
	for _, path := range bad {
		for name, call := range fileCalls(path) {
			r := b.set.Run(t.Context(), call)
			require.True(t, r.Err, "%s %q: %v", name, short(path, 50), r.Output)
			require.NotContains(t, fmt.Sprint(r.Output), "broke down")
			require.NotContains(t, fmt.Sprint(r.Output), "root:", "no content comes out")
		}
	}
	// What is a file of its own kind is refused by those who would have to read it, and may be replaced or listed.
	for path, harmless := range map[string][]string{
		"hard": {"write"}, "huge": {"write"}, "bin": {"write", "search"}, "dir": {
			"list", "glob", "outl",
			"search",
		},
		"dangling": {}, "missing": {"write"},
	} {
		for name, call := range fileCalls(path) {
			if !slices.Contains(harmless, name) {
				require.True(t, b.set.Run(t.Context(), call).Err, "%s %s", name, path)
			}
		}
	}
	require.Equal(t, before, b.everything(), "nothing is changed")
	for _, call := range []Call{
		{Name: spec.ToolListFiles, Args: args{"depth": 99}},
		{Name: spec.ToolGlob, Args: args{"patterns": []any{"**"}, "ignored": true}},
		{Name: spec.ToolSearch, Args: args{"pattern": "secret|one"}},
		{Name: spec.ToolSearch, Args: args{"pattern": "secret"}},
		{Name: spec.ToolOutline, Args: args{"paths": []any{"."}}},
	} {
		r := b.set.Run(t.Context(), call)
		require.False(t, r.Err, "%s: %v", call.Name, r.Output)
		require.NotContains(t, fmt.Sprint(r.Output), "secret\n", "nothing of the outside or of git is shown")
	}
}

// wrong are values of every JSON type.
var wrong = map[string]any{
	"string": "x", "number": 1.5, "boolean": true, "null": nil, "array": []any{1.0, nil, []any{}, args{}},
	"object": args{"a": args{}},
}

func TestHostileArguments(t *testing.T) {
	t.Parallel()
	b := hostile(t)
	before := b.everything()
	for _, d := range b.set.Declarations() {
		schema := d.ParametersJsonSchema.(map[string]any)
		props := schema["properties"].(map[string]any)
		missing := b.set.Run(t.Context(), Call{Name: d.Name})
		for _, name := range schema["required"].([]any) {
			require.Contains(t, missing.Output["error"], name, d.Name)
		}
		for _, kind := range slices.Sorted(maps.Keys(wrong)) {
			all := args{}
			for name, p := range props {
				if p.(map[string]any)["type"] != kind {
					all[name] = wrong[kind]
				}
			}
			if len(all) == 0 {
				continue
			}
			all["no_such_argument"] = 1
			said := b.fails(d.Name, all)
			for name := range all {
				require.Contains(t, said, name, "%s with %s: all faults at once", d.Name, kind)
			}
		}
		huge := args{}
		for name, p := range props {
			switch p.(map[string]any)["type"] {
			case "string":
				huge[name] = strings.Repeat("a", maxEdited+1)
			case "integer":
				huge[name] = 1e300
			case "array":
				huge[name] = slices.Repeat([]any{strings.Repeat("a", 5000)}, 1000)
			}
		}
		if d.Name != spec.ToolSubmitResult && d.Name != spec.ToolRunCommand && d.Name != spec.ToolReportProgress {
			require.True(t, b.run(d.Name, huge).Err, d.Name)
		}
	}
	require.Contains(t, b.fails(spec.ToolWriteFile, args{"path": "new", "content": strings.Repeat("a", maxFile+1)}), "more than")
	require.Equal(t, before, b.everything())
}

func TestWalkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "", "b": "", "c": ""}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	_, err := b.set.tools[spec.ToolSearch].(*search).files.walk(ctx, ".", func(string, fs.DirEntry) error {
		seen++
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, seen)
}
