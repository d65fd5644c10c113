package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CopyTo implements Streams.
func (o object) CopyTo(_ context.Context, _ string, w io.Writer, limit int64) (int64, error) {
	n, err := w.Write(o[:min(int64(len(o)), limit)])
	return int64(n), err
}

func TestASealedStreamIsWhatWasSealed(t *testing.T) {
	t.Parallel()
	data := []byte("a pack")
	name := Name(SealedCommits, data)
	var out bytes.Buffer
	require.NoError(t, Copy(t.Context(), object(data), SealedCommits, name, 6, &out))
	require.Equal(t, data, out.Bytes())
	for why, c := range map[string]struct {
		name string
		data string
		size int64
	}{
		"another kind":   {Name(sealedSetup, data), "a pack", 6},
		"another digest": {name, "a park", 6},
		"too much":       {name, "a pack and more", 15},
		"too little":     {name, "a pac", 6},
		"another size":   {name, "a pack", 7},
	} {
		err := Copy(t.Context(), object(c.data), SealedCommits, c.name, c.size, io.Discard)
		require.ErrorIs(t, err, ErrSeal, why)
	}
	other := Name(SealedCommits, []byte("a park"))
	err := Copy(t.Context(), object("a park"), SealedCommits, name, 6, io.Discard)
	require.ErrorContains(t, err, name)
	require.ErrorContains(t, err, strings.TrimPrefix(other, SealedCommits), "both digests are named")
	full := errors.New("full")
	pr, pw := io.Pipe()
	require.NoError(t, pr.CloseWithError(full))
	require.ErrorIs(t, Copy(t.Context(), object(data), SealedCommits, name, 6, pw), full)
}
