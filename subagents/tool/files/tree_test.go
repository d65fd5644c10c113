//go:build unix

package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/tooltest"

	"github.com/stretchr/testify/require"
)

func TestPathsThatLeadOutAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"in/a.txt": "inside\n", ".git/config": "secret\n"}, nil)
	outside := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(outside, []byte("secret\n"), 0o600))
	link := func(target, name string) { require.NoError(t, os.Symlink(target, filepath.Join(b.Dir, name))) }
	link(outside, "abs")
	link(filepath.Dir(outside), "absdir")
	link("../../etc/passwd", "up")
	link("loop", "loop")
	link(".git", "git")
	link("in", "alias")
	link("in/../.git/config", "sneaky")
	require.NoError(t, os.Link(outside, filepath.Join(b.Dir, "hard")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(b.Dir, "pipe"), 0o600))

	for name, why := range map[string]string{
		"../x": "leads out", "in/../../x": "leads out", "/etc/passwd": "outside the work tree", "~/x": "outside the work tree",
		`in\a.txt`: "backslash", "in/\x00a": "control character", "abs": "symbolic link", "absdir/secret.txt": "symbolic link",
		"up": "symbolic link", "loop": "too many symbolic links", ".git/config": "git's own", ".GIT/config": "git's own",
		"in/../.git./config": "git's own", "GIT~1/config": "git's own", "git/config": "git's own", "sneaky": "git's own",
		"hard": "hard links", "pipe": "not a regular file", "in": "is a directory", "missing": "does not exist",
		"in/a.txt/b": "not a directory", strings.Repeat("a/", 3000): "longer than",
	} {
		require.Contains(t, b.Fails(spec.ToolReadFile, tooltest.Args{"path": name}), why, name)
	}
	require.Contains(t, b.OK(spec.ToolReadFile, tooltest.Args{"path": "alias/a.txt"}), "inside")
	require.Contains(t, b.OK(spec.ToolReadFile, tooltest.Args{"path": filepath.Join(b.Dir, "in/a.txt")}), "inside")
	require.Contains(t, b.Fails(spec.ToolReadFile, tooltest.Args{"path": b.Dir + "x/a"}), "outside the work tree")

	for name, why := range map[string]string{
		"../x": "leads out", "absdir/new": "symbolic link", "abs": "symbolic link", "git/hooks/pre-commit": "git's own",
		".git/hooks/x": "git's own", "pipe": "not a regular file", "in": "is a directory", "": "name a file",
		"sub/.git": "git's own",
	} {
		require.Contains(t, b.Fails(spec.ToolWriteFile, tooltest.Args{"path": name, "content": "x"}), why, name)
	}
	b.OK(spec.ToolWriteFile, tooltest.Args{"path": "hard", "content": "mine\n"})
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "secret\n", string(data), "writing replaces the name and leaves the other file alone")
}

func TestDeviceIsRefused(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot("/dev")
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	b := (&tooltest.Bench{T: t}).Use(Tools(Config{Root: root})...)
	require.Contains(t, b.Fails(spec.ToolReadFile, tooltest.Args{"path": "zero"}), "not a regular file")
}

func TestHugeFileIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"huge": ""}, nil)
	require.NoError(t, os.Truncate(filepath.Join(b.Dir, "huge"), maxFile+1))
	require.Contains(t, b.Fails(spec.ToolReadFile, tooltest.Args{"path": "huge"}), "use search, or run_command")
}

func TestWriteSetHoldsWhereAPathReallyLeads(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"mine/a.go": "a\n", "mine/a_test.go": "t\n", "other/b.go": "b\n", "mine/named_test.go": "n\n",
	}, func(e *Config) {
		e.Scope = NewScope(spec.WriteSet{
			Files: []string{"mine/**", "mine/named_test.go"}, Unlocked: []string{"mine/named_test.go"},
			Protected: []string{"**/*_test.go"},
		})
	})
	require.NoError(t, os.Symlink("../other", filepath.Join(b.Dir, "mine/link")))
	write := func(name string) tooltest.Args { return tooltest.Args{"path": name, "content": "x\n"} }
	b.OK(spec.ToolWriteFile, write("mine/deep/new.go"))
	b.OK(spec.ToolWriteFile, write("mine/named_test.go"))
	require.Contains(t, b.Fails(spec.ToolWriteFile, write("other/b.go")), "outside this task's write set: mine/**")
	require.Contains(t, b.Fails(spec.ToolWriteFile, write("mine/link/b.go")), "outside this task's write set")
	require.Contains(t, b.Fails(spec.ToolWriteFile, write("mine/a_test.go")), "protected (**/*_test.go)")
	edit := editOf("other/b.go", "b", "c")
	require.Contains(t, b.Fails(spec.ToolEditFile, edit), "outside this task's write set")
	require.Equal(t, "b\n", b.Content("other/b.go"))
}

// TestDirectorySwap lets a name lead inside and outside by turns while files are written and read through it.
func TestDirectorySwap(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"inside/x": "old\n"}, nil)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "x"), []byte("secret\n"), 0o600))
	turn := func(target string) error {
		next := filepath.Join(b.Dir, "next")
		return errors.Join(os.Symlink(target, next), os.Rename(next, filepath.Join(b.Dir, "dir")))
	}
	require.NoError(t, turn("inside"))
	stop, swapped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				swapped <- nil
				return
			default:
				if err := errors.Join(turn(outside), turn("inside")); err != nil {
					swapped <- err
					return
				}
			}
		}
	}()
	worked := 0
	for range 500 {
		if r := b.Run(spec.ToolWriteFile, tooltest.Args{"path": "dir/x", "content": "new\n"}); !r.Err {
			worked++
		}
		require.NotContains(t, fmt.Sprint(b.Run(spec.ToolReadFile, tooltest.Args{"path": "dir/x"}).Output), "secret")
	}
	close(stop)
	require.NoError(t, chantest.Next(t, swapped))
	require.Positive(t, worked)
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, left, 1)
	data, err := os.ReadFile(filepath.Join(outside, "x"))
	require.NoError(t, err)
	require.Equal(t, "secret\n", string(data))
}
