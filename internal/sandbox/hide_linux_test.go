package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func owner(t *testing.T, info os.FileInfo) uint32 {
	t.Helper()
	stat, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	return stat.Uid
}

// Hidden lies in a directory that can be read otherwise.
func TestHiddenIsNotRead(t *testing.T) {
	t.Parallel()
	open := t.TempDir()
	state := filepath.Join(open, "state")
	for _, dir := range []string{"run/bus", "run/tools", "run/slots/slot0", "run/slots/slot1", "run/mirror", "later"} {
		require.NoError(t, os.MkdirAll(filepath.Join(state, dir), 0o700))
	}
	for _, name := range []string{
		"run/bus/server.json", "run/tools/tool", "run/run.json", "run/slots/slot0/a", "run/slots/slot1/a",
		"run/mirror/pack", "../beside",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(state, name), []byte("planted "+name), 0o600))
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(state, link))
	try := func(t *testing.T, p place) string {
		t.Helper()
		c := p.shell(`cat $STATE/run/bus/server.json $LINK/run/run.json /proc/self/root$STATE/run/run.json < /dev/null
			ln $STATE/run/run.json mine && cat mine; cp $STATE/run/run.json copy; head -c 99 < $STATE/later/new
			cat $STATE/run/tools/tool $STATE/run/slots/slot0/a $STATE/run/slots/slot1/a $STATE/run/mirror/pack $STATE/../beside
			echo own > own; cat own; wc -l < /etc/passwd`)
		c.Env = append(c.Env, "STATE="+state, "LINK="+link)
		c.Writable = append(c.Writable, filepath.Join(state, "run/slots/slot0"))
		c.Readable = []string{open, filepath.Join(state, "run/mirror"), filepath.Join(state, "run/not-there")}
		out := p.run(t, c)
		require.Zero(t, out.ExitCode, out.Text())
		return out.Text()
	}
	require.Contains(t, try(t, newPlace(t)), "planted run/run.json", "the attack works where nothing is hidden")
	require.Error(t, Hide(filepath.Join(state, "missing")))
	t.Cleanup(func() {
		hidden.mu.Lock()
		defer hidden.mu.Unlock()
		hidden.dirs, hidden.except = nil, nil // the directories go with the test
	})
	require.NoError(t, Hide(link, filepath.Join(state, "run/tools")))
	require.NoError(t, os.WriteFile(filepath.Join(state, "later/new"), []byte("planted later"), 0o600))
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		text := try(t, p)
		for _, name := range []string{"run/bus", "run/run.json", "later", "run/slots/slot1"} {
			require.NotContains(t, text, "planted "+name)
		}
		for _, name := range []string{"run/tools/tool", "run/slots/slot0/a", "run/mirror/pack", "../beside"} {
			require.Contains(t, text, "planted "+name)
		}
		require.Contains(t, text, "own\n")
	}, full, sharedUser, oneWorld, noFilter)
}

func TestHidingTwiceIsHidingOnce(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, Hide(dir))
	require.NoError(t, Hide(dir))
	dirs, _ := whatIsHidden()
	require.Len(t, slices.DeleteFunc(dirs, func(d string) bool { return d != dir }), 1)
}

func TestAbove(t *testing.T) {
	t.Parallel()
	require.True(t, above("/", []string{"/a"}))
	require.True(t, above("/a", []string{"/x", "/a/b"}))
	require.False(t, above("/a", []string{"/a", "/ab/c"}))
}
