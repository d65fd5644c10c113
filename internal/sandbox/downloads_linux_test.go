package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// kept is a repository's cache and a place for one command after the other.
type kept struct {
	place
	caches Caches
}

// run runs a line for an audience, in a home that is new.
func (k kept) run(t *testing.T, who Audience, line string, heard ...func([]byte)) *Output {
	t.Helper()
	private := t.TempDir()
	place := Place{Tree: k.tree, Home: filepath.Join(private, "home"), Temp: filepath.Join(private, "tmp")}
	scratch := filepath.Join(private, "views")
	for _, dir := range []string{place.Home, place.Temp, scratch} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	cache, err := k.caches.For(who, place, scratch)
	require.NoError(t, err)
	place.Downloads = cache.Downloads
	env, err := Env(Settings{Base: os.Environ(), Home: place.Seen().Home, Temp: place.Seen().Temp, Vars: cache.Env})
	require.NoError(t, err)
	c := Command{
		Args: []string{"sh", "-ec", line}, Dir: k.tree, Env: env, Place: place, Writable: cache.Writable, Readable: cache.Readable,
	}
	if len(heard) > 0 {
		c.OnOutput = heard[0]
	}
	out := k.place.run(t, c)
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left, "what a command wrote into its view goes with it")
	return out
}

func newKept(t *testing.T) kept {
	t.Helper()
	return kept{place: newPlace(t), caches: Caches{Dir: t.TempDir()}}
}

// Only a setup changes downloads: others write, delete and lock in a view of their own.
func TestDownloadsAreWrittenBySetupAlone(t *testing.T) {
	t.Parallel()
	if !Probe().views() {
		t.Skip("no views on this machine: " + Probe().String())
	}
	k := newKept(t)
	lent := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(lent, "lent"), []byte("user\n"), 0o444))
	k.caches.Go.ModCache = lent
	out := k.run(t, Setup, `echo one > "$GOMODCACHE/module"; echo crate > "$CARGO_HOME/registry/crate"; echo tgz > "$npm_config_cache/_cacache/t"
		echo wheel > "$PIP_CACHE_DIR/wheel"; mkdir "$YARN_CACHE_FOLDER/dir"; echo y > "$YARN_CACHE_FOLDER/dir/y"`)
	require.True(t, out.Success(), out.Text())
	spoil := `grep -q one "$GOMODCACHE/module"; grep -q user "$GOMODCACHE/lent"; grep -q crate "$CARGO_HOME/registry/crate"
		grep -q tgz "$npm_config_cache/_cacache/t"; grep -q wheel "$PIP_CACHE_DIR/wheel"; grep -q y "$YARN_CACHE_FOLDER/dir/y"
		test ! -e "$CARGO_HOME/config.toml" -a ! -e "$CARGO_HOME/registry/new"
		echo forged > "$GOMODCACHE/module"; rm "$GOMODCACHE/lent" "$PIP_CACHE_DIR/wheel"; rm -r "$YARN_CACHE_FOLDER/dir"
		mkdir "$YARN_CACHE_FOLDER/dir"; echo x > "$CARGO_HOME/registry/new"; echo x > "$CARGO_HOME/config.toml"
		flock -xn "$npm_config_cache/_cacache/t" true; grep -q forged "$GOMODCACHE/module"; test ! -e "$YARN_CACHE_FOLDER/dir/y"`
	for _, who := range []Audience{Gates, Agents, Gates} {
		out := k.run(t, who, spoil)
		require.True(t, out.Success(), out.Text())
	}
	hold := `flock -xn "$npm_config_cache/_cacache/t" sh -c 'echo locked; while [ ! -e "$XDG_CACHE_HOME/go" ]; do sleep 0.02; done'`
	out = k.run(t, Agents, hold, func([]byte) {
		out := k.run(t, Gates, `flock -xn "$npm_config_cache/_cacache/t" true`)
		require.True(t, out.Success(), "an agent's lock holds no gate up: %s", out.Text())
		require.NoError(t, os.WriteFile(filepath.Join(k.caches.Dir, "agents", "xdg", "go"), nil, 0o600))
	})
	require.True(t, out.Success(), out.Text())
	data, err := os.ReadFile(filepath.Join(lent, "lent"))
	require.NoError(t, err)
	require.Equal(t, "user\n", string(data))
}
