package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/fault"
	"divisi/orchestrator/store"
)

// What git ignores in the checkout goes to a host when a person says so, once, and without what can be secret.
func TestSlowTheEnvironmentOfACheckoutIsSentOnce(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	deps := filepath.Join(s.repo, "deps")
	require.NoError(t, os.Mkdir(deps, 0o700))
	for name, data := range map[string][]byte{
		"deps/large": random(t, 2*largePack), "deps/.npmrc": []byte("_authToken=secret\n"), ".gitignore": []byte("deps/\n"),
		".divisi/divisi.yaml": []byte("environment: [deps]\ngates:\n  - {name: test, command: ['true']}\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(s.repo, name), data, 0o600))
	}
	s.commit("deps")
	err := s.submit()
	require.ErrorContains(t, err, "or have it sent")
	code, _ := fault.CodeOf(err)
	require.Equal(t, "snapshot", code)
	require.Zero(t, s.cached())

	s.send = true
	require.Greater(t, s.costs(), uint64(3*largePack))
	require.Contains(t, s.told, "note: sending 2 files of the checkout that git ignores, 4.0 MiB")
	told := len(s.told)
	require.Less(t, s.costs(), uint64(smallPack), "the same files again")
	require.NotContains(t, s.told[told:], "note: sending")
	has := func(dir store.Dir) {
		found, err := filepath.Glob(filepath.Join(dir.Caches(), "*", "environments", "*", "tree", "deps", "*"))
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, "large", filepath.Base(found[0]))
		hidden, err := filepath.Glob(filepath.Join(filepath.Dir(found[0]), ".n*"))
		require.NoError(t, err)
		require.Empty(t, hidden)
	}
	has(s.host.Dir)

	// A host that stands by gets it from the one that conducts.
	other, err := NewHost(Options{StateDir: t.TempDir(), Server: s.at})
	require.NoError(t, err)
	other.Dir, other.bus = store.Dir{Path: other.o.StateDir}, s.host.bus
	stream, err := s.js.Stream(t.Context(), "CACHE")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context()))
	require.NoError(t, other.bring(t.Context(), Known{Run: s.last(), Order: s.host.orderOf(s.last())}))
	has(other.Dir)

	// So does one that begins after the run was stopped: a person may continue with it.
	s.pause()
	third, err := NewHost(Options{StateDir: t.TempDir(), Server: s.at})
	require.NoError(t, err)
	third.Dir, third.bus = store.Dir{Path: third.o.StateDir}, s.host.bus
	require.NoError(t, third.bring(t.Context(), Known{Run: s.last(), Order: s.host.orderOf(s.last()), Ended: true}))
	has(third.Dir)

	require.NoError(t, os.WriteFile(filepath.Join(deps, "large"), random(t, 2*largePack), 0o600))
	require.Greater(t, s.costs(), uint64(largePack), "it has changed")
	require.NoError(t, os.WriteFile(filepath.Join(s.repo, ".divisi", "divisi.yaml"),
		[]byte("gates:\n  - {name: test, command: ['true']}\n"), 0o600))
	s.commit("none")
	require.ErrorContains(t, s.submit(), "takes no environment from the checkout")
}
