package bus

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

// leaseOf is a lease for an hour on a bus. Its clock moves by what a test lets pass.
func leaseOf(b *Bus, holder string, passed *atomic.Int64) *Lease {
	l, began := b.NewLease("host", holder, time.Hour), time.Now()
	l.clock, l.beat = func() time.Time { return began.Add(time.Duration(passed.Load())) }, 10*time.Millisecond
	return l
}

func ignore([]byte) {}

func noting(v any) func() any { return func() any { return v } }

func TestALeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		var passed atomic.Int64
		one, two := leaseOf(b, "one", &passed), leaseOf(b, "two", &passed)
		require.ErrorIs(t, one.Held(), ErrLeaseLost, "not taken yet")
		note, err := one.Take(ctx, ignore)
		require.NoError(t, err)
		require.Empty(t, note)
		require.NoError(t, one.Held())
		require.NoError(t, one.Keep(ctx, noting("a")))

		seen, taken := make(chan string, 100), make(chan error, 1)
		go func() {
			_, err := two.Take(ctx, func(note []byte) { seen <- string(note) })
			taken <- err
		}()
		require.Equal(t, `"a"`, chantest.Next(t, seen))
		for range 3 { // longer than the lease lasts
			passed.Add(int64(40 * time.Minute))
			require.NoError(t, one.Keep(ctx, noting("b")))
			require.Equal(t, `"b"`, chantest.Next(t, seen))
		}
		require.NoError(t, one.Held())
		require.Empty(t, taken)

		passed.Add(int64(time.Hour))
		require.NoError(t, chantest.Next(t, taken))
		require.ErrorIs(t, one.Held(), ErrLeaseLost)
		require.ErrorIs(t, one.Keep(ctx, noting(nil)), ErrLeaseLost)
		require.NoError(t, one.Release(ctx, noting(nil)), "of what is not held")
		require.NoError(t, two.Keep(ctx, noting("c")))

		require.NoError(t, two.Release(ctx, noting("d")))
		require.ErrorIs(t, two.Held(), ErrLeaseLost)
		note, err = one.Take(ctx, ignore)
		require.NoError(t, err)
		require.JSONEq(t, `"d"`, string(note))
	})
}

// A holder that was killed has its lease back before it has run out.
func TestAHolderTakesItsLeaseBackAtOnce(t *testing.T) {
	t.Parallel()
	b, ctx := open(t, fast(t)), soon(t)
	killed := b.NewLease("host", "one", time.Hour)
	_, err := killed.Take(ctx, ignore)
	require.NoError(t, err)
	again := b.NewLease("host", "one", time.Hour)
	_, err = again.Take(ctx, ignore)
	require.NoError(t, err)
	err = killed.Keep(ctx, noting(nil))
	require.ErrorIs(t, err, ErrTwin, "another term of the same holder")
	require.ErrorIs(t, err, ErrLeaseLost)
	require.ErrorIs(t, killed.Held(), ErrLeaseLost)
	require.NoError(t, again.Keep(ctx, noting(nil)))
}

// A holder that was away for longer than others waited learns when it renews that its lease is another's, and no twin's.
func TestAHolderLearnsThatItsLeaseIsAnothers(t *testing.T) {
	t.Parallel()
	b, ctx := open(t, fast(t)), soon(t)
	var passed atomic.Int64
	away, other := b.NewLease("host", "one", time.Hour), leaseOf(b, "two", &passed)
	_, err := away.Take(ctx, func([]byte) { t.Error("there is no other holder") })
	require.NoError(t, err)
	_, err = other.Take(ctx, func([]byte) { passed.Store(int64(time.Hour)) })
	require.NoError(t, err)
	require.NoError(t, away.Held(), "it cannot know yet")
	err = away.Keep(ctx, noting(nil))
	require.ErrorIs(t, err, ErrLeaseLost)
	require.NotErrorIs(t, err, ErrTwin)
	require.ErrorIs(t, away.Held(), ErrLeaseLost)
	require.NoError(t, other.Keep(ctx, noting(nil)))
}

// A lease is held until its time is over, and not at that time, when another holder may take it.
func TestALeaseIsOverAtItsTime(t *testing.T) {
	t.Parallel()
	b, now := open(t, fast(t)), time.Unix(1_000_000, 0)
	l := b.NewLease("host", "one", 0)
	l.clock = func() time.Time { return now }
	_, err := l.Take(soon(t), ignore)
	require.NoError(t, err)
	now = now.Add(leaseTime - 1)
	require.NoError(t, l.Held())
	now = now.Add(1)
	require.ErrorIs(t, l.Held(), ErrLeaseLost)
}

// A machine that sleeps has a monotonic clock that stands still, and a wall clock that continues.
func TestALeaseEndsWhileItsMachineSleeps(t *testing.T) {
	t.Parallel()
	b, ctx := open(t, fast(t)), soon(t)
	var asleep atomic.Int64
	l := b.NewLease("host", "one", 0)
	l.clock = func() time.Time {
		now := time.Now()
		if d := asleep.Load(); d != 0 {
			return now.Round(0).Add(time.Duration(d)) // the monotonic part of the first reading does not count either
		}
		return now
	}
	_, err := l.Take(ctx, ignore)
	require.NoError(t, err)
	require.NoError(t, l.Held())
	asleep.Store(int64(leaseTime))
	require.ErrorIs(t, l.Held(), ErrLeaseLost)
	require.ErrorIs(t, l.Keep(ctx, noting(nil)), ErrLeaseLost)
	asleep.Store(int64(-time.Hour))
	require.ErrorIs(t, l.Held(), ErrLeaseLost, "also when its clock is put back")
}

// An answer that was lost leaves a record that this holder does not know of.
func TestAWriteWhoseAnswerWasLostIsTheHoldersOwn(t *testing.T) {
	t.Parallel()
	b, ctx := open(t, fast(t)), soon(t)
	l := b.NewLease("host", "one", 0)
	_, err := l.Take(ctx, ignore)
	require.NoError(t, err)
	before := l.epoch
	require.NoError(t, l.Keep(ctx, noting(1)))
	l.epoch = before
	require.NoError(t, l.Keep(ctx, noting(2)))
	require.Greater(t, l.epoch, before+1)
}

func TestWaitingForALeaseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := open(t, fast(t))
	one, two := b.NewLease("host", "one", 0), b.NewLease("host", "two", 0)
	_, err := one.Take(soon(t), ignore)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(soon(t))
	_, err = two.Take(ctx, func([]byte) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.NewLease("a.b", "one", 0).Take(soon(t), ignore)
	require.ErrorIs(t, err, ErrSubject)
}
