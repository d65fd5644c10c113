package bus

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nats-io/nats.go"
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

// The process of an earlier program has no cache: its log is found, whose format reports what can read it.
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

// What is read piece by piece is what Get and Put know, whole or not at all.
func TestObjectsOfTheCacheAreStreamed(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		for _, size := range []int{0, 1, objectPiece - 1, objectPiece, objectPiece + 1, 2 * objectPiece, 3*objectPiece + 17} {
			data := make([]byte, size)
			_, err := rand.Read(data)
			require.NoError(t, err)
			name := rand.Text()
			require.NoError(t, b.Cache().PutFrom(ctx, name, iotest.HalfReader(bytes.NewReader(data))))
			require.NoError(t, b.Cache().Put(ctx, name, data), "the same again")
			require.ErrorIs(t, b.Cache().PutFrom(ctx, name, bytes.NewReader(append(data, 1))), ErrExists)
			var out bytes.Buffer
			n, err := b.Cache().CopyTo(ctx, name, &out, int64(size))
			require.NoError(t, err)
			require.EqualValues(t, size, n)
			require.True(t, bytes.Equal(data, out.Bytes()), size)
			out.Reset()
			_, err = b.Cache().CopyTo(ctx, name, &out, int64(size)-1)
			require.ErrorIs(t, err, ErrTooLarge)
			require.Zero(t, out.Len())
		}
		broken := errors.New("the disk fails")
		for _, head := range []int{0, objectPiece, objectPiece + 1} {
			half := io.MultiReader(bytes.NewReader(make([]byte, head)), iotest.ErrReader(broken))
			require.ErrorIs(t, b.Cache().PutFrom(ctx, "half", half), broken)
			_, err := b.Cache().Get(ctx, "half")
			require.ErrorIs(t, err, ErrNotFound, "half an object has no name")
		}
	})
}

// What is damaged or lost on the server ends with an error before the last of its bytes, and what fails to write does so at once.
func TestFaultsOfStreamedObjects(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		data := make([]byte, 3*objectPiece)
		_, err := rand.Read(data)
		require.NoError(t, err)
		require.NoError(t, b.Cache().PutFrom(ctx, "whole", bytes.NewReader(data)))
		whole, err := b.newest(ctx, b.cache, "cache.n.whole")
		require.NoError(t, err)
		first, second := sumOf(data[:objectPiece]), sumOf(data[objectPiece:2*objectPiece])
		lie := func(name, from, to string) {
			text := strings.ReplaceAll(string(whole.Data), from, to)
			require.NotEqual(t, string(whole.Data), text, name)
			m := &nats.Msg{Subject: "cache.n." + name, Data: []byte(text), Header: nats.Header{headerManifest: {"1"}}}
			_, err := b.publish(ctx, b.cache, m, m.Subject, 0)
			require.NoError(t, err)
		}
		lie("sum", sumOf(data), first)
		lie("order", first, second)
		lie("short", `"size":3072000`, `"size":3071999`)
		lie("long", `"size":3072000`, `"size":9999999`)
		lie("lost", second, sumOf(nil))
		lie("text", `{`, `x`)
		for _, name := range []string{"sum", "order", "short", "long", "lost", "text"} {
			var out bytes.Buffer
			_, err = b.Cache().CopyTo(ctx, name, &out, 1<<30)
			require.ErrorIs(t, err, ErrBroken, name)
			require.Less(t, out.Len(), len(data), name)
		}
		_, err = b.Cache().CopyTo(ctx, "none", io.Discard, 1<<30)
		require.ErrorIs(t, err, ErrNotFound)
		pr, pw := io.Pipe()
		require.NoError(t, pr.Close())
		_, err = b.Cache().CopyTo(ctx, "whole", pw, 1<<30)
		require.ErrorIs(t, err, io.ErrClosedPipe)
	})
}
