package bus

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestObjects(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		for _, size := range []int{0, 1, 400, objectPiece - 1, objectPiece, objectPiece + 1, 3*objectPiece + 17} {
			data := make([]byte, size)
			_, err := rand.Read(data)
			require.NoError(t, err)
			name := "run 1/täsk/" + rand.Text()
			_, err = b.Get(ctx, name)
			require.ErrorIs(t, err, ErrNotFound)

			require.NoError(t, b.Put(ctx, name, data[:min(size, 2000)]))
			if size > 2000 {
				require.ErrorIs(t, b.Put(ctx, name, data), ErrExists)
				name += "whole"
				require.NoError(t, b.Put(ctx, name, data))
			}
			require.NoError(t, b.Put(ctx, name, bytes.Clone(data)), "the same again")
			require.ErrorIs(t, b.Put(ctx, name, append(bytes.Clone(data), 1)), ErrExists)

			got, err := b.Get(ctx, name)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got), size)
		}
	})
}

func TestObjectFaultsAreErrors(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		for _, bad := range []string{"", strings.Repeat("x", maxName+1)} {
			require.ErrorIs(t, b.Put(ctx, bad, nil), ErrSubject)
			_, err := b.Get(ctx, bad)
			require.ErrorIs(t, err, ErrSubject)
		}
		data := bytes.Repeat([]byte("0123456789abcdef"), objectPiece/8)
		require.NoError(t, b.Put(ctx, "whole", data))
		subject, err := objectSubject(prefixObject, "lies")
		require.NoError(t, err)
		whole, err := b.newest(ctx, b.objects, "obj.n.whole")
		require.NoError(t, err)
		lie := bytes.Replace(whole.Data, []byte(`"size":2048000`), []byte(`"size":2047999`), 1)
		require.NotEqual(t, string(whole.Data), string(lie))
		m := &nats.Msg{Subject: subject, Data: lie, Header: nats.Header{headerManifest: {"1"}}}
		_, err = b.publish(ctx, b.objects, m, subject, 0)
		require.NoError(t, err)
		_, err = b.Get(ctx, "lies")
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorIs(t, err, ErrBroken)

		for name, size := range map[string]string{"negative": "-1", "odd": `"x"`, "more": "2048001"} {
			lie := bytes.Replace(whole.Data, []byte(`"size":2048000`), []byte(`"size":`+size), 1)
			subject, err := objectSubject(prefixObject, name)
			require.NoError(t, err)
			_, err = b.publish(ctx, b.objects, &nats.Msg{Subject: subject, Data: lie, Header: m.Header}, subject, 0)
			require.NoError(t, err)
			_, err = b.Get(ctx, name)
			require.ErrorIs(t, err, ErrBroken, name)
		}
		again, err := json.Marshal(manifest{
			Size: 600 * objectPiece, Pieces: slices.Repeat([]string{sumOf(data[:objectPiece])}, 600),
		})
		require.NoError(t, err)
		subject, err = objectSubject(prefixObject, "vast")
		require.NoError(t, err)
		_, err = b.publish(ctx, b.objects, &nats.Msg{Subject: subject, Data: again, Header: m.Header}, subject, 0)
		require.NoError(t, err)
		_, err = b.Get(ctx, "vast")
		require.ErrorIs(t, err, ErrTooLarge, "one piece many times")

		piece := "obj.p." + sumOf(data[:objectPiece])
		require.NoError(t, b.objects.Purge(ctx, jetstream.WithPurgeSubject(piece)))
		_, err = b.Get(ctx, "whole")
		require.ErrorIs(t, err, ErrUnavailable, "a missing piece is no end of file")
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err = b.Get(ended, "whole")
		require.ErrorIs(t, err, context.Canceled)
	})
}
