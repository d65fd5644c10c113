package toolset

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/tool"
	"divisi/subagents/tool/commands"
	"divisi/subagents/tool/files"

	"github.com/stretchr/testify/require"
)

// newRunner runs commands in a directory, with the PATH of the test.
func newRunner(t *testing.T, dir string) Runner {
	t.Helper()
	private := t.TempDir()
	place := sandbox.Place{Tree: dir, Home: filepath.Join(private, "home"), Temp: filepath.Join(private, "tmp")}
	require.NoError(t, errors.Join(os.Mkdir(place.Home, 0o700), os.Mkdir(place.Temp, 0o700)))
	env := []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + place.Seen().Temp}
	return Runner{Command: sandbox.Command{Dir: dir, Place: place, Env: env}, Cores: gate.NewLimiter(0)}
}

func TestRunnerGivesSignsOfLife(t *testing.T) {
	t.Parallel()
	r := newRunner(t, t.TempDir())
	var mu sync.Mutex
	var heard []string
	ctx := tool.WithBeat(t.Context(), func(note string) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, note)
	})
	out, err := r.Run(ctx, commands.Command{Shell: "echo building", Timeout: time.Minute})
	require.NoError(t, err)
	require.Equal(t, "building\n", out.Text)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"building"}, heard)
}

// TestOutlineByCtags has the real ctags read a file, confined, in a directory that tries to give it options.
func TestOutlineByCtags(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ctags"); err != nil {
		t.Skip("ctags is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"-a.py": "class A:\n    def f(self, n=1):\n        pass\n", ".ctags.d/evil.ctags": "--kinds-Python=-c\n",
		".ctags": "--kinds-Python=-c\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	set, err := tool.NewSet(nil, []string{spec.ToolOutline}, files.Tools(files.Config{Root: root, Dir: dir, Runner: newRunner(t, dir)})...)
	require.NoError(t, err)
	r := set.Run(t.Context(), tool.Call{Name: spec.ToolOutline, Args: map[string]any{"paths": []any{"-a.py"}}})
	require.Equal(t, "-a.py\n     1-3      class A\n     2-3      member A.f(self, n=1)\n", r.Output["output"], "%v", r.Output)
}
