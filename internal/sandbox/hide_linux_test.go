package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHiddenIsNotRead(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	p := newPlace(t)
	state := t.TempDir()
	for _, dir := range []string{"run/bus", "run/tools", "run/slots/slot0", "later"} {
		require.NoError(t, os.MkdirAll(filepath.Join(state, dir), 0o700))
	}
	for _, name := range []string{"run/bus/server.json", "run/tools/tool", "run/run.json", "run/slots/slot0/a"} {
		require.NoError(t, os.WriteFile(filepath.Join(state, name), []byte("planted "+name), 0o600))
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(state, link))
	c := p.shell(`cat $STATE/run/bus/server.json $LINK/run/run.json /proc/self/root$STATE/run/run.json < /dev/null
		ln $STATE/run/run.json mine; cat mine; cp $STATE/run/run.json copy; head -c 99 < $STATE/later/new
		cat $STATE/run/tools/tool $STATE/run/slots/slot0/a; echo own > own; cat own; wc -l < /etc/passwd`)
	c.Env = append(c.Env, "STATE="+state, "LINK="+link)
	c.Writable = append(c.Writable, filepath.Join(state, "run/slots/slot0"))
	require.Contains(t, p.run(t, c).Text(), "planted run/run.json", "the attack works where nothing is hidden")
	require.NoError(t, os.Remove(filepath.Join(p.tree, "copy")))

	require.NoError(t, Hide(link, filepath.Join(state, "run/tools")))
	require.NoError(t, os.WriteFile(filepath.Join(state, "later/new"), []byte("planted later"), 0o600))
	out := p.run(t, c)
	require.Zero(t, out.ExitCode, out.Text())
	require.NotContains(t, out.Text(), "planted run/bus")
	require.NotContains(t, out.Text(), "planted run/run.json")
	require.NotContains(t, out.Text(), "planted later")
	require.Contains(t, out.Text(), "planted run/tools/tool")
	require.Contains(t, out.Text(), "planted run/slots/slot0/a")
	require.Contains(t, out.Text(), "own\n")

	require.Error(t, Hide(filepath.Join(state, "missing")))
}

func TestAbove(t *testing.T) {
	t.Parallel()
	require.True(t, above("/", []string{"/a"}))
	require.True(t, above("/a", []string{"/x", "/a/b"}))
	require.False(t, above("/a", []string{"/a", "/ab/c"}))
}
