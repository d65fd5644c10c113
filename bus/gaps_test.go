package bus

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStoreThatRunsWereRemovedFromIsNotDamaged(t *testing.T) {
	t.Parallel()
	ctx, o := t.Context(), fast(t)
	b, err := Open(ctx, o)
	require.NoError(t, err)
	noise := func(size int) []byte {
		data := make([]byte, size)
		_, err := rand.Read(data)
		require.NoError(t, err)
		return data
	}
	for _, run := range []string{"r1", "r2", "r3"} { // more than a block each
		at, err := OwnerOptions(o.Dir)
		require.NoError(t, err)
		at.Run = run
		of, err := Open(ctx, at)
		require.NoError(t, err)
		for n := range 13 {
			_, err := b.Append(ctx, AttemptSubject(run, "w", "g", fmt.Sprint("t", n), 1), noise(800_000), 0)
			require.NoError(t, err)
			require.NoError(t, of.Put(ctx, fmt.Sprint(n), noise(800_000)))
		}
		require.NoError(t, of.Close(ctx))
	}
	for _, run := range []string{"r1", "r2"} {
		_, err := b.Forget(ctx, run)
		require.NoError(t, err)
	}
	require.NoFileExists(t, filepath.Join(o.Dir, streamDir(streamEvents), "msgs", "1.blk"))
	require.NoFileExists(t, filepath.Join(o.Dir, streamDir(streamObjects), "msgs", "1.blk"))
	require.NoError(t, b.Close(ctx))
	b, err = Open(ctx, o)
	require.NoError(t, err)
	for range 13 { // a block behind the removal
		_, err := b.Append(ctx, AttemptSubject("r4", "w", "g", rand.Text(), 1), noise(800_000), 0)
		require.NoError(t, err)
	}
	require.NoError(t, b.Close(ctx))
	blocks, err := streamIn(o.Dir, streamEvents).list()
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(o.Dir, streamDir(streamEvents), "msgs", fmt.Sprintf("%d.blk", blocks[len(blocks)-2]))))
	require.NoError(t, os.Rename(filepath.Join(o.Dir, copyName), filepath.Join(o.Dir, "away")))
	_, err = Open(ctx, o)
	require.ErrorIs(t, err, ErrDamaged)
	require.NoError(t, os.Rename(filepath.Join(o.Dir, "away"), filepath.Join(o.Dir, copyName)))
	b = open(t, o)
	require.NotEmpty(t, b.Remade())
	require.Len(t, collect(t, b, ctx, allEvents, 0), 26)
}
