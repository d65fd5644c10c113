package bus

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// copyStore copies what a backup has of a store.
func copyStore(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	for _, stream := range Stored() {
		require.NoError(t, filepath.WalkDir(filepath.Join(from, stream), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !IsStored(d.Name()) {
				return err
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			at := filepath.Join(to, strings.TrimPrefix(path, from))
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
			return os.WriteFile(at, data, 0o600)
		}))
	}
	return to
}

func TestACopyOfAStoreGoesOnBehindEverythingThatItsServerGaveOut(t *testing.T) {
	t.Parallel()
	ctx, o := t.Context(), fast(t)
	b := open(t, o)
	subject, filter := AttemptSubject("r", "w", "g", "t", 1), AttemptFilter("r", "g", "t", 1)
	pos, err := b.AppendFiltered(ctx, subject, filter, []byte("kept"), 0)
	require.NoError(t, err)
	require.NoError(t, b.Put(ctx, "name", []byte("object")))
	require.NoError(t, b.Enqueue(ctx, TaskSubject("g", "r", "t--1"), "id", []byte("x")))
	held := b.NewLease("host", "me", 0)
	_, err = held.Take(ctx, func([]byte) {})
	require.NoError(t, err)

	dir := copyStore(t, o.Dir) // while the server is live
	lost, err := b.AppendFiltered(ctx, subject, filter, []byte("lost"), pos)
	require.NoError(t, err)
	require.NoError(t, held.Keep(ctx, func() any { return nil }))

	c, err := Check(dir)
	require.NoError(t, err)
	require.Equal(t, Contents{Position: pos, Events: 1, Objects: 1}, c)
	from, err := Advance(t.Context(), dir, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Greater(t, from, pos+atLeast+3600*perSecond-1)
	for range 2 { // the second time with the index of the server
		again := fast(t)
		again.Dir = dir
		r, err := Open(ctx, again)
		require.NoError(t, err)
		m, err := r.Last(ctx, RestoredSubject)
		require.NoError(t, err)
		require.Equal(t, from, m.Pos)
		_, err = r.AppendFiltered(ctx, subject, filter, []byte("of the lost future"), lost)
		require.ErrorIs(t, err, ErrFenced)
		require.Equal(t, []string{"kept"}, sessionOf(t, r, filter))
		data, err := r.Get(ctx, "name")
		require.NoError(t, err)
		require.Equal(t, "object", string(data))
		require.NoError(t, r.Close(context.WithoutCancel(ctx)))
	}
	again := fast(t)
	again.Dir = dir
	r := open(t, again)
	queued, err := r.Queued(ctx, "task.>")
	require.NoError(t, err)
	require.Empty(t, queued)
	require.NoError(t, r.Enqueue(ctx, TaskSubject("g", "r", "t--1"), "id", []byte("x")))
	q, err := r.Queue(ctx, "g", QueueOptions{})
	require.NoError(t, err)
	d, err := q.Next(ctx)
	require.NoError(t, err)
	at, err := strconv.ParseUint(strings.Split(d.AckSubject, ".")[5], 10, 64)
	require.NoError(t, err)
	require.Greater(t, at, from)
	next, err := r.AppendFiltered(ctx, subject, filter, []byte("goes on"), pos)
	require.NoError(t, err)
	require.Greater(t, next, from)
	require.Equal(t, []string{"kept", "goes on"}, sessionOf(t, r, filter))
	mine := r.NewLease("host", "me", 0)
	_, err = mine.Take(ctx, func([]byte) {})
	require.NoError(t, err)
	require.Greater(t, mine.epoch, from)
}

func sessionOf(t *testing.T, b *Bus, filter string) (got []string) {
	t.Helper()
	for m, err := range b.Read(t.Context(), filter, 0) {
		require.NoError(t, err)
		got = append(got, string(m.Data))
	}
	return got
}

// A record that was copied while it was written is no damage, also once the log continues behind it.
func TestARecordThatWasCopiedInPartIsLeftOut(t *testing.T) {
	t.Parallel()
	dir, want := stored(t, small(3)...)
	block := blockOf(dir, streamEvents, 1)
	data, err := os.ReadFile(block)
	require.NoError(t, err)
	next := recordOf(t, want[2].Pos+1, "ev.r.m.run", strings.Repeat("x", 999))
	require.NoError(t, os.WriteFile(block, append(data, next[:500]...), 0o600))
	c, err := Check(dir)
	require.NoError(t, err)
	require.Equal(t, 3, c.Events)
	_, err = Advance(t.Context(), dir, time.Now())
	require.NoError(t, err)
	o := fast(t)
	o.Dir = dir
	require.Len(t, sessionOf(t, open(t, o), "ev.>"), 4, "three, and where it goes on")
}
