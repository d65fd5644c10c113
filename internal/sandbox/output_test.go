package sandbox

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCollectorKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(2, 40).Draw(t, "bound")
		seen := newCollector(Command{MaxOutput: bound}.withDefaults())
		var all bytes.Buffer
		for _, chunk := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 90)).Draw(t, "chunks") {
			n, err := seen.Write(chunk)
			require.NoError(t, err)
			require.Equal(t, len(chunk), n)
			all.Write(chunk)
		}
		out := &Output{}
		seen.fill(out)
		require.LessOrEqual(t, len(out.Head)+len(out.Tail), bound+1)
		require.True(t, bytes.HasPrefix(all.Bytes(), out.Head))
		require.True(t, bytes.HasSuffix(all.Bytes(), out.Tail))
		require.Equal(t, int64(all.Len()), int64(len(out.Head)+len(out.Tail))+out.Omitted)
		if all.Len() <= bound {
			require.Zero(t, out.Omitted)
			require.Equal(t, all.String(), out.Text())
		}
	})
}
