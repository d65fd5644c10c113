package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestForgetRemovesARunAndNothingElse(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), "nats://ann:secret@"+externalServer(t, t.TempDir(), 0).Addr().String()
	big := bytes.Repeat([]byte("0123456789abcdef"), objectPiece/8)
	buses := map[string]*Bus{}
	for _, run := range []string{"r1", "r2"} {
		b := open(t, Options{URL: url, Run: run})
		buses[run] = b
		_, err := b.Append(ctx, ConductorSubject(run, "run"), []byte("{}"), 0)
		require.NoError(t, err)
		require.NoError(t, b.Enqueue(ctx, TaskSubject("role", run, "t"), "t", []byte("x")))
		require.NoError(t, b.Put(ctx, "small", []byte(run)))
		require.NoError(t, b.Cache().Put(ctx, "made", []byte(run)))
		require.NoError(t, b.Put(ctx, "big", append([]byte(run), big...)))
		_, err = b.Queue(ctx, "role", QueueOptions{Run: run})
		require.NoError(t, err)
	}
	b := open(t, Options{URL: url})
	logs := func() (of []string) {
		info, err := b.events.Info(ctx, jetstream.WithSubjectFilter("ev.>"))
		require.NoError(t, err)
		return slices.Sorted(maps.Keys(info.State.Subjects))
	}
	require.Equal(t, []string{"ev.r1.m.run", "ev.r2.m.run"}, logs())
	freed, err := b.Forget(ctx, "r1")
	require.NoError(t, err)
	require.Greater(t, freed, uint64(len(big)))

	require.Equal(t, []string{"ev.r2.m.run"}, logs())
	_, err = buses["r1"].Get(ctx, "small")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = buses["r1"].Cache().Get(ctx, "made")
	require.ErrorIs(t, err, ErrNotFound)
	made, err := buses["r2"].Cache().Get(ctx, "made")
	require.NoError(t, err)
	require.Equal(t, "r2", string(made))
	left, err := buses["r2"].Get(ctx, "big")
	require.NoError(t, err)
	require.Equal(t, append([]byte("r2"), big...), left)
	queued, err := b.Queued(ctx, "task.>")
	require.NoError(t, err)
	require.Equal(t, []string{"task.role.r2.t"}, queued)
	var consumers []string
	for name := range b.tasks.ConsumerNames(ctx).Name() {
		consumers = append(consumers, name)
	}
	require.Equal(t, []string{"role--r2"}, consumers)
	_, err = b.Forget(ctx, "*")
	require.ErrorIs(t, err, ErrSubject)
	_, err = b.Forget(ctx, "")
	require.ErrorIs(t, err, ErrSubject)
}

func FuzzOwner(f *testing.F) {
	f.Add([]byte(`{"url":"nats://127.0.0.1:4222","pid":1,"run":"r1"}`))
	f.Add([]byte(`{"url":"nats://a:b","run":"../x"}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/"+OwnerFile, data, 0o600))
		require.NoError(t, os.WriteFile(dir+"/"+lockName, data, 0o600))
		if h, err := readOwner(dir); err == nil {
			require.True(t, h.Run == "" || ValidToken(h.Run))
		}
		require.ErrorAs(t, lockedBy(dir+"/"+lockName), new(*LockedError))
		require.False(t, Locked(dir))
		release, err := Lock(dir)
		require.NoError(t, err)
		require.True(t, Locked(dir))
		_, err = Lock(dir)
		require.ErrorAs(t, err, new(*LockedError))
		require.NoError(t, release())
	})
}

func FuzzLockNote(f *testing.F) {
	f.Add([]byte(`{"url":"nats://127.0.0.1:4222","pid":7,"started":"2026-11-22T10:00:00Z"}`))
	f.Add([]byte(`{"url":1,"pid":"x"}`))
	f.Add([]byte(`{"pid":-9223372036854775809}`))
	f.Add([]byte("{\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := t.TempDir() + "/" + lockName
		require.NoError(t, os.WriteFile(path, data, 0o600))
		locked := new(LockedError)
		require.ErrorAs(t, lockedBy(path), &locked)
		require.Equal(t, path, locked.Path)
		var note lockNote
		if err := json.Unmarshal(data, &note); err == nil && note.PID != 0 {
			require.Equal(t, note.PID, locked.PID)
			require.Contains(t, locked.Error(), fmt.Sprintf("process %d, started ", note.PID))
		} else {
			require.Contains(t, locked.Error(), "is locked by another process")
		}
	})
}
