package bus

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// The restore of the server keeps positions, also where some are free, headers and times; what expects an older position is refused.
func TestARestoredStreamKeepsItsPositions(t *testing.T) {
	t.Parallel()
	o, at := fast(t), time.Now().UTC().Add(-time.Hour)
	want := []*jetstream.RawStreamMsg{
		{Subject: "ev.r.m.run", Sequence: 3, Data: []byte("three"), Time: at, Header: nats.Header{"Divisi-Id": {"x"}}},
		{Subject: "ev.r.m.task", Sequence: 5, Data: []byte("five"), Time: at},
		{Subject: "ev.restored", Sequence: 1 << 40, Data: []byte("{}"), Time: at},
	}
	require.NoError(t, remake(soon(t), o, []content{{streamEvents, (&files{}).all(want...), 1<<40 + 9}}, func(ctx context.Context, b *Bus) error { return b.expectGaps(ctx) }))
	for range 2 {
		b, err := Open(soon(t), o)
		require.NoError(t, err)
		for _, m := range want {
			got, err := b.events.GetMsg(soon(t), m.Sequence)
			require.NoError(t, err)
			require.Equal(t, m.Data, got.Data)
			require.Equal(t, m.Time, got.Time)
			require.Equal(t, m.Header.Get("Divisi-Id"), got.Header.Get("Divisi-Id"))
		}
		last, err := b.Last(soon(t), "ev.r.m.>")
		require.NoError(t, err)
		_, err = b.AppendFiltered(soon(t), "ev.r.m.task", "ev.r.m.>", []byte("stale"), last.Pos-1)
		require.ErrorIs(t, err, ErrFenced)
		pos, err := b.AppendFiltered(soon(t), "ev.r.m.task", "ev.r.m.>", []byte("next"), last.Pos)
		require.NoError(t, err)
		require.Greater(t, pos, uint64(1<<40+9))
		require.NoError(t, b.Close(soon(t)))
		require.NoFileExists(t, filepath.Join(o.Dir, remade))
	}
}
