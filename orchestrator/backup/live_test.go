package backup

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
)

// A server that writes and removes runs all the time, in files that are begun and go: each copy has what was acknowledged before it.
func TestABackupOfABusyServerHasWhatWasAcknowledgedBefore(t *testing.T) {
	t.Parallel()
	stateDir, b := serving(t)
	ctx, stop := context.WithCancel(t.Context())
	var newest atomic.Uint64
	var under sync.WaitGroup
	defer under.Wait()
	defer stop()
	under.Go(func() {
		data := make([]byte, 60_000)
		for n := 0; n < 2400 && ctx.Err() == nil; n++ {
			_, _ = rand.Read(data) // it never fails
			pos, err := b.Append(context.WithoutCancel(ctx), bus.ConductorSubject(fmt.Sprintf("run%d", n/200), rand.Text()), data, 0)
			if err != nil {
				t.Errorf("append: %v", err)
				return
			}
			newest.Store(pos)
			if n%200 == 199 && n > 400 { // of three runs the oldest goes
				if _, err := b.Forget(context.WithoutCancel(ctx), fmt.Sprintf("run%d", n/200-2)); err != nil {
					t.Errorf("forget: %v", err)
					return
				}
			}
		}
	})
	for i := range 3 {
		require.Eventually(t, func() bool { return newest.Load() > uint64(300*(i+1)) }, time.Minute, time.Millisecond)
		dir, to, before := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "state"), newest.Load()
		m, err := Save(t.Context(), stateDir, dir, "v1", time.Now())
		require.NoError(t, err)
		require.GreaterOrEqual(t, m.Position, before)
		_, _, err = Restore(t.Context(), dir, to, time.Now())
		require.NoError(t, err)
		r, err := bus.Open(t.Context(), bus.Options{Dir: StoreDir(to)})
		require.NoError(t, err)
		last, err := r.Last(t.Context(), "ev.*.m.>")
		require.NoError(t, err)
		require.Equal(t, m.Position, last.Pos)
		require.NoError(t, r.Close(t.Context()))
	}
}
