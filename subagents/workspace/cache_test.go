package workspace_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/workspace"
)

// TestSlotsShareTheBuildCache builds the same commit in two slots: the second one compiles nothing.
func TestSlotsShareTheBuildCache(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	t.Parallel()
	b := newBundle(t, map[string]string{
		"go.mod":  "module example.org/m\n\ngo 1.26\n",
		"a.go":    "package m\n\nimport \"example.org/m/in\"\n\nfunc A() int { return in.B() }\n",
		"in/b.go": "package in\n\nfunc B() int { return 1 }\n",
	})
	cache := t.TempDir()
	build := func(s *workspace.Slot) string {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-x", "./...")
		cmd.Dir = s.Dir()
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + cache, "GOCACHE=" + cache, "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local",
			"GOPROXY=off", "GOTELEMETRY=off",
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	compiled := func(out string) int { return strings.Count(out, "/compile ") }
	one, two := b.slot(t), b.slot(t)
	require.NotEqual(t, one.Dir(), two.Dir())
	require.Equal(t, 2, compiled(build(one)), "the first slot compiles both packages")
	require.Zero(t, compiled(build(two)), "the second slot finds them in the cache")
	write(t, two.Dir()+"/in/b.go", "package in\n\nfunc B() int { return 2 }\n")
	require.NotZero(t, compiled(build(two)), "a change is compiled")
	require.NoError(t, two.Reset(t.Context(), b.base))
	require.Zero(t, compiled(build(two)), "so is a reset one")
}
