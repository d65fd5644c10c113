package worker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/subagents/environment"
	"divisi/subagents/tool/commands"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

// The commands of an attempt share what they write over an environment until its tree is made anew, and a link of a workspace leads
// to the attempt's own package.
func TestCommandsWorkOverTheEnvironment(t *testing.T) {
	t.Parallel()
	if err := sandbox.Views(); err != nil {
		t.Skip(err)
	}
	s := newSite(t)
	e := &environment.Environment{Dir: t.TempDir(), Manifest: environment.Manifest{Places: []string{"node_modules"}, Files: []string{"config.js"}}}
	lower := e.Lower("node_modules")
	require.NoError(t, errors.Join(os.MkdirAll(lower, 0o700), os.Mkdir(e.Tools(), 0o700), os.Mkdir(e.Stores(), 0o700),
		os.WriteFile(e.Lower("config.js"), []byte("config\n"), 0o600)))
	require.NoError(t, errors.Join(
		os.WriteFile(filepath.Join(lower, "index.js"), []byte("installed\n"), 0o600), os.Symlink("../a.txt", filepath.Join(lower, "own")),
	))
	slot, err := s.pool.Acquire(t.Context())
	require.NoError(t, err)
	at := &attempt{
		worker: &Worker{Places: NewPlaces(1, 1)}, assignment: &wire.Assignment{Base: true}, private: t.TempDir(), env: []string{"PATH=" + os.Getenv("PATH")},
		slot: slot, commit: s.head,
	}
	at.lie(e)
	require.NoError(t, errors.Join(os.Mkdir(at.home(), 0o700), os.Mkdir(at.temp(), 0o700)))
	sh := func(script string) string {
		out, err := at.runner().Run(t.Context(), commands.Command{Shell: script, Timeout: time.Minute})
		require.NoError(t, err)
		return out.Text
	}
	require.NoError(t, at.lay(t.Context()))
	require.Equal(t, "installed\nconfig\n", sh("cat node_modules/index.js config.js; echo changed > node_modules/index.js; echo mine > a.txt; touch /divisi/stores/x"))
	require.Equal(t, "changed\nmine\n/divisi/stores/x\n", sh("cat node_modules/index.js node_modules/own; ls /divisi/stores/*"))
	tree, err := slot.Files(t.Context())
	require.NoError(t, err)
	require.NotContains(t, tree, "node_modules/index.js")

	at.fill = true
	require.Contains(t, sh("touch /divisi/stores/kept; ls /divisi/stores"), "kept", "a setup fills the stores")
	at.fill = false
	require.NoError(t, at.lay(t.Context()))
	require.Equal(t, "installed\nkept\n", sh("cat node_modules/index.js; ls /divisi/stores"))
	require.NoError(t, at.closeKeeper())
}

func TestTheKeeperOfAnAttemptThatHasEndedIsNoFaultOfItsCommand(t *testing.T) {
	t.Parallel()
	if err := sandbox.Views(); err != nil {
		t.Skip(err)
	}
	s := newSite(t)
	slot, err := s.pool.Acquire(t.Context())
	require.NoError(t, err)
	at := &attempt{
		worker: &Worker{Places: NewPlaces(1, 1)}, assignment: &wire.Assignment{Base: true}, private: t.TempDir(), env: []string{"PATH=" + os.Getenv("PATH")},
		slot: slot, commit: s.head,
	}
	e := &environment.Environment{Dir: t.TempDir()}
	at.lie(e)
	require.NoError(t, errors.Join(os.Mkdir(e.Tools(), 0o700), os.Mkdir(e.Stores(), 0o700), os.Mkdir(at.home(), 0o700), os.Mkdir(at.temp(), 0o700), at.lay(t.Context())))
	require.NoError(t, at.keeper.Close())
	_, err = at.runner().Run(t.Context(), commands.Command{Shell: "true", Timeout: time.Minute})
	require.ErrorIs(t, err, sandbox.ErrKeeper)
}
