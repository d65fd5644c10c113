package bus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A log without its last messages looks whole. Its owner and its readers are told all the same; the owner once, as the positions are
// given out again.
func TestACutOffLogIsTold(t *testing.T) {
	t.Parallel()
	dir, want := stored(t, small(5)...)
	path := blockOf(dir, streamEvents, 1)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	third := strings.Index(string(data), want[2].Subject) - recordHead
	require.NoError(t, os.WriteFile(path, data[:third], 0o600))
	got, lost := readAll(t, dir)
	require.Equal(t, want[:2], got)
	require.Equal(t, []string{"3 messages are lost, 3 to 5: the end of the log was cut off"}, lost)

	o := fast(t)
	o.Dir = dir
	b := open(t, o)
	require.Equal(t, lost[0], b.CutOff())
	require.Len(t, collect(t, b, soon(t), RunFilter("r"), 0), 2)
	_, err = b.Append(t.Context(), want[1].Subject, []byte("on"), 2)
	require.NoError(t, err)
	require.NoError(t, b.Close(t.Context()))

	b = open(t, o)
	require.Empty(t, b.CutOff())
	require.NoError(t, b.Close(t.Context()))
}

func TestAMarkThatIsNoneTellsNothing(t *testing.T) {
	t.Parallel()
	dir, want := stored(t, small(2)...)
	for _, text := range []string{"", "-1", "1", "2", "x", "99999999999999999999999", "18446744073709551615", "3\n4"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, markName), []byte(text), 0o600))
		got, lost := readAll(t, dir)
		require.Equal(t, want, got)
		require.Empty(t, lost, text)
	}
}

// The server refuses to make a queue anew whose state it cannot read.
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
