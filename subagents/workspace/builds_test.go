package workspace

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"divisi/internal/gocache"
	"divisi/internal/sandbox"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// However many batches land, few layers are mounted, and none is lost.
func TestManyLayersAreMerged(t *testing.T) {
	t.Parallel()
	if err := sandbox.Views(); err != nil {
		t.Skip(err)
	}
	b := NewBuilds(filepath.Join(t.TempDir(), "builds"), time.Now, zerolog.Nop())
	cache := t.TempDir()
	const batches = 3*maxLayers + 2
	for i := range batches {
		commit, on := strconv.Itoa(i+1), strconv.Itoa(i)
		layers := b.Below(commit, on, cache)
		require.LessOrEqual(t, len(layers), maxLayers+1)
		require.Equal(t, cache, layers[len(layers)-1])
		upper := filepath.Join(t.TempDir(), "upper")
		require.NoError(t, os.Mkdir(upper, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(upper, commit), nil, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(upper, "newest"), []byte(commit), 0o600))
		require.NoError(t, b.Keep(commit, upper))
		require.Equal(t, layers, b.Below(commit, on, cache), "another try begins with the same")
	}
	found := map[string]bool{}
	layers := b.Below("last", strconv.Itoa(batches), cache)
	for _, layer := range layers {
		entries, err := os.ReadDir(layer)
		require.NoError(t, err)
		for _, e := range entries {
			found[e.Name()] = true
		}
	}
	require.Len(t, found, batches+1)
	newest, err := os.ReadFile(filepath.Join(layers[0], "newest"))
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(batches), string(newest))
}

// The go command copies what it reads into a layer when that looks old.
func TestEntriesBelowALayerLookFresh(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b, cache := NewBuilds(t.TempDir(), func() time.Time { return now }, zerolog.Nop()), t.TempDir()
	entry := filepath.Join(cache, strings.Repeat("a", 64)+"-d")
	require.NoError(t, os.WriteFile(entry, nil, 0o600))
	for range 3 {
		require.NoError(t, os.Chtimes(entry, now, now.Add(-50*time.Minute)))
		b.Below("tested", "head", cache)
		info, err := os.Stat(entry)
		require.NoError(t, err)
		require.WithinDuration(t, now, info.ModTime(), time.Second)
		now = now.Add(gocache.Fresh)
	}
}

// Where there are no layers, gates write a copy.
func TestABuildCacheIsCopied(t *testing.T) {
	t.Parallel()
	caches := sandbox.Caches{Dir: t.TempDir()}
	cache, err := caches.Builds(sandbox.Gates)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(cache, "go-build", "entry"), []byte("built"), 0o600))
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, CopyBuilds(copied, cache))
	c, err := caches.For(sandbox.Gates, sandbox.Place{Home: t.TempDir(), Builds: copied}, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, []string{copied}, c.Writable)
	data, err := os.ReadFile(filepath.Join(c.Env["GOCACHE"], "entry"))
	require.NoError(t, err)
	require.Equal(t, "built", string(data))
}
