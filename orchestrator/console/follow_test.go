package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/run"
)

// tape is a log that is played: each batch after its pause; then it waits for the end, or ends with err.
type tape struct {
	batches []Batch
	pauses  map[uint64]time.Duration
	err     error
}

func (l *tape) Tail(ctx context.Context, from uint64) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for _, b := range l.batches {
			select {
			case <-ctx.Done():
				return
			case <-time.After(l.pauses[b.Pos]):
			}
			if b.Pos > from && !yield(b, nil) {
				return
			}
		}
		if l.err != nil {
			yield(Batch{}, l.err)
			return
		}
		<-ctx.Done()
		yield(Batch{}, ctx.Err())
	}
}

func state(pos uint64, s run.Status) Batch {
	return Batch{Pos: pos, Events: []contextscope.Event{event(contextscope.KindRun, "", run.Data{State: s})}}
}

func TestFollowEndsWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := &tape{
			batches: []Batch{state(3, "running"), state(5, "stopped"), state(8, "running"), state(9, "done")},
			pauses:  map[uint64]time.Duration{8: endGrace / 2, 9: time.Hour},
		}
		c := New(Options{Out: &out, JSON: true})
		require.NoError(t, Follow(t.Context(), log, c), "a stop that was resumed is not the end, done is")
		require.NoError(t, c.Close())
		require.Equal(t, 4, bytes.Count(out.Bytes(), []byte("\n")))
		require.Contains(t, out.String(), `"pos":9`)
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := New(Options{Out: io.Discard})
		require.ErrorIs(t, Follow(ctx, &tape{batches: []Batch{state(1, "running")}}, c), context.DeadlineExceeded)
		require.NoError(t, c.Close())
	})
}

func TestFollowTellsErrors(t *testing.T) {
	t.Parallel()
	gone := errors.New("the store is gone")
	c := New(Options{Out: io.Discard})
	require.ErrorIs(t, Follow(t.Context(), &tape{batches: []Batch{state(1, "running")}, err: gone}, c), gone)
	require.NoError(t, c.Close())

	c = New(Options{Out: &brokenWriter{}})
	require.ErrorIs(t, Follow(t.Context(), &tape{batches: []Batch{state(1, "running")}}, c), io.ErrClosedPipe)
	require.Error(t, c.Close())
}
