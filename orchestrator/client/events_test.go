package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
)

// playedLog is a log that is played: each batch after its pause; then it waits for the end, or ends with err.
type playedLog struct {
	batches []eventlog.Batch
	pauses  map[uint64]time.Duration
	err     error
}

func (l *playedLog) Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
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
			yield(eventlog.Batch{}, l.err)
			return
		}
		<-ctx.Done()
		yield(eventlog.Batch{}, ctx.Err())
	}
}

func state(t *testing.T, pos uint64, s run.Status) eventlog.Batch {
	t.Helper()
	data, err := json.Marshal(run.Data{State: s})
	require.NoError(t, err)
	return eventlog.Batch{Pos: pos, Events: []contextscope.Event{{Kind: contextscope.KindRun, Data: data}}}
}

// positions reads a sequence to its end.
func positions(seq iter.Seq2[eventlog.Batch, error]) (seen []uint64, err error) {
	for b, err := range seq {
		if err != nil {
			return seen, err
		}
		seen = append(seen, b.Pos)
	}
	return seen, nil
}

func TestEventsOfAnotherProcessEndWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &playedLog{
			batches: []eventlog.Batch{
				state(t, 3, run.Running), state(t, 5, run.Stopped), {Pos: 6}, state(t, 8, run.Running), state(t, 9, run.Done),
			},
			pauses: map[uint64]time.Duration{8: endGrace / 2, 9: time.Hour},
		}
		seen, err := positions(untilEnd(t.Context(), log.Tail))
		require.NoError(t, err)
		require.Equal(t, []uint64{3, 5, 6, 8, 9}, seen, "a stop that was resumed is not the end, done is")
	})
}

func TestEventsOfAnotherProcessEndWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		log := &playedLog{batches: []eventlog.Batch{state(t, 1, run.Running)}}
		seen, err := positions(untilEnd(ctx, log.Tail))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, []uint64{1}, seen)
	})
}

func TestEventsOfAnotherProcessEndWithAnError(t *testing.T) {
	t.Parallel()
	gone := errors.New("the store is gone")
	log := &playedLog{batches: []eventlog.Batch{state(t, 1, run.Running)}, err: gone}
	seen, err := positions(untilEnd(t.Context(), log.Tail))
	require.ErrorIs(t, err, gone)
	require.Equal(t, []uint64{1}, seen)
}
