package bus

import (
	"bytes"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

var errWrite = errors.New("a write failed")

// A server that is restarted reads its files as one of a new process does: it would cut off what follows the damage.
func TestADamagedStoreIsNotRestarted(t *testing.T) {
	t.Parallel()
	b, ctx := open(t, fast(t)), soon(t)
	for _, text := range []string{"one", "two", "three"} {
		_, err := b.Append(ctx, AttemptSubject("r", "local", "generator", text, 1), []byte(text), 0)
		require.NoError(t, err)
	}
	path := blockOf(b.dir, streamEvents, 1)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[bytes.Index(data, []byte("two"))] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	b.WaitForRoom(func(text string) { t.Error("it waits: " + text) })

	require.ErrorIs(t, b.repair(ctx, b.starts(), errWrite), ErrDamaged)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, data, after)
}

// What keeps the server from starting is told, not only a full disk.
func TestWhatKeepsTheServerFromStartingIsTold(t *testing.T) {
	t.Parallel()
	o := fast(t)
	o.Log = zerolog.Nop()
	b, ctx := open(t, o), soon(t)
	starts := b.starts()
	b.server.stop()
	other, err := net.Listen("tcp", b.server.options.Listen)
	require.NoError(t, err)
	var told []string
	b.WaitForRoom(func(text string) {
		if told = append(told, text); len(told) == 1 {
			require.NoError(t, other.Close())
		}
	})

	require.NoError(t, b.repair(ctx, starts, errWrite))
	require.Len(t, told, 2)
	require.Contains(t, told[0], "start the embedded server in "+b.dir)
	require.Contains(t, told[0], "\nThe run waits until the store can be used, for 30m0s at most")
	require.Contains(t, told[1], "the run continues")
	require.Greater(t, b.starts(), starts)
	_, err = b.Append(ctx, AttemptSubject("r", "local", "generator", "a", 1), []byte("text"), 0)
	require.NoError(t, err)
}
