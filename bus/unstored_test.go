package bus

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

// TestCallsWaitForRoomElsewhere: writes wait while the store of a server elsewhere is full, and are stored once. A
// lease is answered at once.
func TestCallsWaitForRoomElsewhere(t *testing.T) {
	t.Parallel()
	s := externalServerOf(t, t.TempDir(), 0, 4<<20)
	ctx, b := soon(t), open(t, Options{URL: "nats://ann:secret@" + s.Addr().String()})
	told := make(chan string, 9)
	tight(t, b)
	_, err := b.Append(ctx, ConductorSubject("r", "before"), make([]byte, 800<<10), 0)
	require.ErrorIs(t, err, ErrFull, "it waits only where a person is told")
	b.WaitForRoom(func(text string) { told <- text })

	stored := make(chan error, 2)
	for _, run := range []string{"x", "y"} {
		go func() {
			_, err := b.Append(ctx, ConductorSubject("r", run), bytes.Repeat([]byte(run), 800<<10), 0)
			stored <- err
		}()
	}
	require.Contains(t, chantest.Next(t, told), "stores nothing: ")
	require.ErrorIs(t, b.NewLease("l", "me", 0).begin(ctx, bytes.Repeat([]byte("1"), 800<<10), 0), ErrFull)
	require.Empty(t, stored)
	require.NoError(t, b.js.DeleteStream(ctx, "FILL"))

	require.NoError(t, errors.Join(chantest.Next(t, stored), chantest.Next(t, stored)))
	require.Contains(t, chantest.Next(t, told), "stores again")
	require.Empty(t, told)
	require.Len(t, collect(t, b, ctx, RunFilter("r"), 0), 2)
}

// tight fills the store of a server until what is larger than 64 KiB finds no room.
func tight(t *testing.T, b *Bus) {
	t.Helper()
	_, err := b.js.CreateStream(soon(t), jetstream.StreamConfig{Name: "FILL", Subjects: []string{"fill"}})
	require.NoError(t, err)
	for {
		if _, err = b.js.Publish(soon(t), "fill", make([]byte, 64<<10)); err != nil {
			break
		}
	}
	require.True(t, full(err), err)
}

// TestAStoreThatHasReachedItsCeilingIsMended: the ceiling is that of the disk when the server started.
func TestAStoreThatHasReachedItsCeilingIsMended(t *testing.T) {
	t.Parallel()
	o, ctx := fast(t), soon(t)
	o.MaxStore = 2 << 20
	b := open(t, o)
	elsewhere := open(t, Options{URL: strings.Replace(b.URL(), "nats://", "nats://divisi:"+b.server.cred.password+"@", 1)})
	told := make(chan string, 9)
	elsewhere.WaitForRoom(func(text string) { told <- text })
	b.server.options.MaxStore = 0 // as where another program has left room since
	b.WaitForRoom(func(string) {})
	defer b.Mend()()

	for i := range 8 {
		_, err := elsewhere.Append(ctx, AttemptSubject("r", "local", "generator", "a", i+1), make([]byte, 600<<10), 0)
		require.NoError(t, err)
	}
	require.Contains(t, chantest.Next(t, told), "stores nothing: ")
	require.Contains(t, chantest.Next(t, told), "stores again")
	require.Greater(t, b.starts(), int64(1))
}

// TestAServerOfMembersListensWhereItDidAfterARepair: the host beside it connects to that address.
func TestAServerOfMembersListensWhereItDidAfterARepair(t *testing.T) {
	t.Parallel()
	byEach(t, func(t *testing.T, s *served) {
		t.Helper()
		before := s.server.srv.Load().Addr().String()
		require.NoError(t, s.restart())
		require.Equal(t, before, s.server.srv.Load().Addr().String())
	})
}
