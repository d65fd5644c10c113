package worker

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/tool/commands"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

// What is started ahead is of one attempt and one audience. A setup, which may write what others only read, gets none of it.
func TestStagesAreStartedAheadForOneAudience(t *testing.T) {
	t.Parallel()
	caches := sandbox.Caches{Dir: t.TempDir()}
	begin := func() *attempt {
		at := &attempt{worker: &Worker{Places: NewPlaces(1, 1)}, assignment: &wire.Assignment{Role: spec.Role{Name: "fixer"}}, private: t.TempDir()}
		at.worker.cfg.Caches, at.worker.cfg.Environ = caches, []string{"PATH=" + os.Getenv("PATH")}
		t.Cleanup(func() { require.NoError(t, at.closeKeeper()) })
		return at
	}
	one, other := begin(), begin()
	require.Nil(t, one.ground().Ahead)
	seen := map[*sandbox.Ahead]bool{}
	for _, at := range []*attempt{one, other} {
		for _, audience := range []sandbox.Audience{
			sandbox.Agents, sandbox.Gates, sandbox.Base, sandbox.Apart("fixer", true, false), sandbox.Apart("other", true, false), sandbox.Agents,
		} {
			require.NoError(t, at.environment(audience))
			ahead := at.ground().Ahead
			require.NotNil(t, ahead)
			require.False(t, seen[ahead], "%s takes over what another one has", audience)
			seen[ahead] = true
			_, err := at.runner().Run(t.Context(), commands.Command{Shell: "true", Timeout: time.Minute})
			require.NoError(t, err)
			require.NoError(t, at.environment(audience))
			require.Same(t, ahead, at.ground().Ahead, "its next command uses it")
		}
	}
	require.NoError(t, one.environment(sandbox.Setup))
	require.Nil(t, one.ground().Ahead)
	require.NoError(t, errors.Join(other.closeKeeper(), other.closeKeeper()))
	require.Nil(t, other.ground().Ahead)
}

// children counts the child processes of this one.
func children(t *testing.T) (n int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, task := range tasks {
		list, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children") // the thread may have ended
		n += len(strings.Fields(string(list)))
	}
	return n
}

// A command of an agent's tool has a stage wait, which ends with the audience, the place and the attempt.
func TestStagesThatWaitAreEnded(t *testing.T) { //nolint:paralleltest // it counts processes
	if err := sandbox.Views(); err != nil {
		t.Skip(err)
	}
	at := &attempt{worker: &Worker{Places: NewPlaces(1, 1)}, assignment: &wire.Assignment{Role: spec.Role{Name: "fixer"}}, private: t.TempDir()}
	at.worker.cfg.Caches, at.worker.cfg.Environ = sandbox.Caches{Dir: t.TempDir()}, []string{"PATH=" + os.Getenv("PATH")}
	before := children(t)
	for _, end := range []func() error{
		func() error { return at.environment(sandbox.Gates) }, at.closeKeeper, func() error { at.endStages(); return nil },
	} {
		require.NoError(t, at.environment(sandbox.Agents))
		_, err := at.runner().Run(t.Context(), commands.Command{Shell: "true", Timeout: time.Minute})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return children(t) == before+1 }, time.Minute, time.Millisecond)
		require.NoError(t, end())
		require.Equal(t, before, children(t))
	}
}
