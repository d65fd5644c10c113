package runs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFirstDemoTellsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	var said []string
	size := 1
	f := &filling{say: func(s string) { said = append(said, s) }, size: func() int { return size }}
	require.True(t, f.begin())
	require.Len(t, said, 1)
	require.Contains(t, said[0], "build cache is empty")
	f.tell()
	require.Len(t, said, 1, "nothing was compiled since")
	size = 40
	f.tell()
	require.Contains(t, said[1], "40 files in the build cache so far")
	f.tell()
	require.Len(t, said, 2)
	size = filled + 1
	said = nil
	require.False(t, f.begin(), "later demos find what was compiled")
	require.Empty(t, said)
}
