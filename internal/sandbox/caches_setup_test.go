package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLastSetupIsRemembered(t *testing.T) {
	t.Parallel()
	has := func(c Caches, key string) bool {
		had, err := c.HasSetup(key)
		require.NoError(t, err)
		return had
	}
	begin := func(c Caches) func(string) error {
		end, err := c.BeginSetup()
		require.NoError(t, err)
		return end
	}
	c := Caches{Dir: filepath.Join(t.TempDir(), "caches", "repo")}
	require.False(t, has(c, ""))
	require.False(t, has(c, "a"))
	end := begin(c)
	require.False(t, has(c, "a"))
	kept := filepath.Join(c.Dir, "modules", "example.com", "m")
	require.NoError(t, os.MkdirAll(kept, 0o700))
	require.NoError(t, end("a"))
	require.True(t, has(c, "a"))
	require.False(t, has(c, "b"))
	require.False(t, has(c, ""))

	require.NoError(t, os.Rename(kept, kept+"x"))
	require.False(t, has(c, "a"), "what it left is gone")
	require.NoError(t, os.Rename(kept+"x", kept))
	require.True(t, has(c, "a"))

	one, two := begin(c), begin(c)
	require.NoError(t, one("a"))
	require.False(t, has(c, "a"), "the other may have changed what this one left")
	require.NoError(t, two("a"))
	require.False(t, has(c, "a"))
	require.NoError(t, begin(c)("a"))
	require.True(t, has(c, "a"))
	require.NoError(t, begin(c)(""))
	require.False(t, has(c, "a"), "a setup without a key changes the caches too")

	require.NoError(t, begin(c)("a"))
	require.NoError(t, os.WriteFile(c.setupFile(), []byte(`{"key":"a`), 0o600))
	require.False(t, has(c, "a"))
}
