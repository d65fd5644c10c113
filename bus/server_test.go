package bus

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The server refuses to make a queue again whose state it cannot read.
func TestAQueueThatCannotBeReadIsMadeAnew(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"o.dat", "meta.inf", "meta.sum"} {
		o := fast(t)
		b := open(t, o)
		_, err := b.Queue(t.Context(), "role", QueueOptions{})
		require.NoError(t, err)
		require.NoError(t, b.Enqueue(t.Context(), TaskSubject("role", "r", "t"), "1", []byte("x")))
		require.NoError(t, b.Close(t.Context()))
		state := filepath.Join(o.Dir, streamDir(streamTasks), "obs", "role", file)
		require.NoError(t, os.WriteFile(state, []byte("garbage"), 0o600))

		b = open(t, o)
		q, err := b.Queue(t.Context(), "role", QueueOptions{})
		require.NoError(t, err, file)
		d, err := q.Next(soon(t))
		require.NoError(t, err)
		require.Equal(t, []byte("x"), d.Data)
		require.NoError(t, b.Close(t.Context()))
	}
}
