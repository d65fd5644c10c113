package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// over runs a line in a build cache with layers, and returns what it printed and the layer that it left.
func (p place) over(t *testing.T, line string, keep bool, layers ...string) (out *Output, left string) {
	t.Helper()
	k, err := p.level.keeper(t.Context(), KeeperConfig{Place: Place{Tree: p.tree}, Builds: layers, Scratch: t.TempDir()})
	require.NoError(t, err)
	c := p.shell("cd " + layers[len(layers)-1] + "; " + line)
	c.Place = Place{Tree: p.tree, KeepTree: keep, Keeper: k}
	c.Writable = nil
	out = p.run(t, c)
	require.NoError(t, k.Close())
	return out, k.Built()
}

// What commands write over a build cache reaches neither that nor the layers below; layers show merged what they show apart.
func TestABuildCacheHasLayers(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		cache := t.TempDir()
		write := func(name string) {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(cache, name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(cache, name), []byte(name+"\n"), 0o600))
		}
		for _, name := range []string{"kept", "removed", "replaced/old", "gone/old"} {
			write(name)
		}
		layers := []string{cache}
		for _, line := range []string{
			`cat kept && rm removed && rm -r replaced gone && mkdir replaced && echo new > replaced/new && echo one > one`,
			`! test -e removed && ! test -e gone && ! test -e replaced/old && echo again > removed && rm one && mkdir one && echo x > one/x`,
			`test -e one/x && rm -r one && echo file > one && echo changed > kept && mkfifo pipe && ln -s /etc/passwd link && rm replaced/new`,
		} {
			out, left := p.over(t, line, false, layers...)
			require.True(t, out.Success(), out.Text())
			layers = append([]string{left}, layers...)
		}
		const list = `find . | sort; cat kept removed one`
		merged := filepath.Join(t.TempDir(), "merged")
		require.NoError(t, Merge(merged, layers[:3], cache))
		apart, _ := p.over(t, list, false, layers...)
		require.Equal(t, ".\n./kept\n./link\n./one\n./pipe\n./removed\n./replaced\nchanged\nagain\nfile\n", apart.Text())
		together, _ := p.over(t, list, false, merged, cache)
		require.Equal(t, apart.Text(), together.Text())
		out, _ := p.over(t, `echo spoilt > kept; echo spoilt > one`, false, merged, cache)
		require.True(t, out.Success(), out.Text())
		again, _ := p.over(t, list, false, layers...)
		require.Equal(t, apart.Text(), again.Text(), "a merged layer has links to their files")
		bare, _ := p.over(t, `find . | sort; cat kept`, false, cache)
		require.Equal(t, ".\n./gone\n./gone/old\n./kept\n./removed\n./replaced\n./replaced/old\nkept\n", bare.Text())
		out, _ = p.over(t, `cat kept; echo x > kept`, true, cache)
		require.False(t, out.Success(), "a command that keeps the tree keeps this too")
	}, full, sharedUser)
}

// Gates write what their keeper holds, or what their place has.
func TestGatesOfAPatchCannotWriteTheCache(t *testing.T) {
	t.Parallel()
	l := Probe()
	if !l.views() {
		t.Skip("no views on this machine: " + l.String())
	}
	caches := Caches{Dir: t.TempDir()}
	cache, err := caches.Builds(Gates)
	require.NoError(t, err)
	k, err := l.keeper(t.Context(), KeeperConfig{Builds: []string{cache}, Scratch: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, k.Close()) }()
	over, err := caches.For(Gates, Place{Home: t.TempDir(), Keeper: k}, t.TempDir())
	require.NoError(t, err)
	require.Empty(t, over.Writable)
	require.Equal(t, filepath.Join(cache, goBuilds), over.Env["GOCACHE"])
}
