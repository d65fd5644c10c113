package bus

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// The server may have removed an object of the cache, or a part of it: it is made again and put again, and whole.
func TestWhatTheCacheLostIsPutAgain(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		require.Equal(t, cacheAge, b.cache.CachedInfo().Config.MaxAge)
		require.Zero(t, b.objects.CachedInfo().Config.MaxAge)
		data := bytes.Repeat([]byte("0123456789abcdef"), objectPiece/8)
		require.NoError(t, b.Cache().Put(ctx, "pack", data))
		_, err := b.Get(ctx, "pack")
		require.ErrorIs(t, err, ErrNotFound, "the streams share no object")
		for _, lost := range []string{"cache.n.pack", "cache.p." + sumOf(data[:objectPiece]), "cache.>"} {
			require.NoError(t, b.cache.Purge(ctx, jetstream.WithPurgeSubject(lost)))
			_, err = b.Cache().Get(ctx, "pack")
			require.Error(t, err, lost)
			require.NoError(t, b.Cache().Put(ctx, "pack", data))
			got, err := b.Cache().Get(ctx, "pack")
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got), lost)
		}
	})
}

// The process of an earlier program has no cache: its log is found, whose format tells what can read it.
func TestAServerWithoutACacheIsAttachedTo(t *testing.T) {
	t.Parallel()
	ctx, o := soon(t), fast(t)
	b := open(t, o)
	pos, err := b.Append(ctx, ConductorSubject("r", "x"), []byte("an event"), 0)
	require.NoError(t, err)
	require.NoError(t, b.js.DeleteStream(ctx, streamCache))
	a, err := Attach(ctx, o.Dir)
	require.NoError(t, err)
	last, err := a.Last(ctx, RunFilter("r"))
	require.NoError(t, err)
	require.Equal(t, pos, last.Pos)
	require.NoError(t, a.Close(ctx))
}
