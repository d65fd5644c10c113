//go:build unix

package files

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/internal/text"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
)

// hostile is a tree with everything in it that is no ordinary file.
func hostile(t *testing.T) *tooltest.Bench {
	t.Helper()
	b := newBench(t, map[string]string{
		"a.txt": "one\n", "dir/b.go": "package b\n", ".git/config": "secret\n",
		"bin": "a\x00b\n",
	}, nil)
	in := func(name string) string { return filepath.Join(b.Dir, name) }
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
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", text.Short(in("socket"), 100))
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
func fileCalls(path string) map[string]tool.Call {
	return map[string]tool.Call{
		"list":   {Name: spec.ToolListFiles, Args: tooltest.Args{"path": path}},
		"glob":   {Name: spec.ToolGlob, Args: tooltest.Args{"path": path, "patterns": []any{"*"}}},
		"read":   {Name: spec.ToolReadFile, Args: tooltest.Args{"path": path}},
		"search": {Name: spec.ToolSearch, Args: tooltest.Args{"path": path, "pattern": "e"}},
		"outl":   {Name: spec.ToolOutline, Args: tooltest.Args{"paths": []any{path}}},
		"edit":   {Name: spec.ToolEditFile, Args: editOf(path, "secret", "x")},
		"write":  {Name: spec.ToolWriteFile, Args: tooltest.Args{"path": path, "content": "x"}},
	}
}

func TestHostilePaths(t *testing.T) {
	t.Parallel()
	b := hostile(t)
	before := everything(b)
	for _, path := range bad {
		for name, call := range fileCalls(path) {
			r := b.Set.Run(t.Context(), call)
			require.True(t, r.Err, "%s %q: %v", name, text.Short(path, 50), r.Output)
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
				require.True(t, b.Set.Run(t.Context(), call).Err, "%s %s", name, path)
			}
		}
	}
	require.Equal(t, before, everything(b), "nothing is changed")
	for _, call := range []tool.Call{
		{Name: spec.ToolListFiles, Args: tooltest.Args{"depth": 99}},
		{Name: spec.ToolGlob, Args: tooltest.Args{"patterns": []any{"**"}, "ignored": true}},
		{Name: spec.ToolSearch, Args: tooltest.Args{"pattern": "secret|one"}},
		{Name: spec.ToolSearch, Args: tooltest.Args{"pattern": "secret"}},
		{Name: spec.ToolOutline, Args: tooltest.Args{"paths": []any{"."}}},
	} {
		r := b.Set.Run(t.Context(), call)
		require.False(t, r.Err, "%s: %v", call.Name, r.Output)
		require.NotContains(t, fmt.Sprint(r.Output), "secret\n", "nothing of the outside or of git is shown")
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, files := treeOver(t, map[string]string{"a": "", "b": "", "c": ""})
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	_, err := files.walk(ctx, ".", func(string, fs.DirEntry) error {
		seen++
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, seen)
}
