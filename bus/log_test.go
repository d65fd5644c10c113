package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

func TestAppendIsFenced(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		s := AttemptSubject("r", "local", "generator", "t", 1)

		first, err := b.Append(ctx, s, []byte("started 1"), 0)
		require.NoError(t, err)
		second, err := b.Append(ctx, s, []byte("turn"), first)
		require.NoError(t, err)
		require.Greater(t, second, first)

		// The task is delivered again; the new owner appends after what it read, and the old one has lost.
		took, err := b.Append(ctx, s, []byte("started 2"), second)
		require.NoError(t, err)
		_, err = b.Append(ctx, s, []byte("a zombie's result"), second)
		require.ErrorIs(t, err, ErrFenced)
		_, err = b.Append(ctx, s, []byte("as if it were new"), 0)
		require.ErrorIs(t, err, ErrFenced)

		last, err := b.Last(ctx, s)
		require.NoError(t, err)
		require.Equal(t, took, last.Pos)
		require.Equal(t, "started 2", string(last.Data))
		require.Equal(t, s, last.Subject)
		require.WithinDuration(t, time.Now(), last.Time, time.Minute)
	})
}

func TestOneOfManyWritersWins(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = b.AppendFiltered(ctx, ConductorSubject("r", fmt.Sprint("kind", i)), ConductorFilter("r"), nil, 0)
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				require.ErrorIs(t, err, ErrFenced)
			}
		}
		require.Equal(t, 1, won)
	})
}

func TestConductorFenceIgnoresAttempts(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		pos, err := b.AppendFiltered(ctx, ConductorSubject("r", "run"), ConductorFilter("r"), []byte("a"), 0)
		require.NoError(t, err)
		_, err = b.Append(ctx, AttemptSubject("r", "local", "reader", "t", 1), []byte("b"), 0)
		require.NoError(t, err)
		_, err = b.AppendFiltered(ctx, ConductorSubject("other", "run"), ConductorFilter("other"), []byte("c"), 0)
		require.NoError(t, err, "another run has a log of its own")
		next, err := b.AppendFiltered(ctx, ConductorSubject("r", "task"), ConductorFilter("r"), []byte("d"), pos)
		require.NoError(t, err)

		last, err := b.Last(ctx, ConductorFilter("r"))
		require.NoError(t, err)
		require.Equal(t, next, last.Pos)
		none, err := b.Last(ctx, RunFilter("nobody"))
		require.NoError(t, err)
		require.Nil(t, none)
	})
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		s := ConductorSubject("r", "x")
		_, err := b.Append(ctx, s, make([]byte, MaxData+1), 0)
		require.ErrorIs(t, err, ErrTooLarge)
		_, err = b.Append(ctx, s, make([]byte, MaxData), 0)
		require.NoError(t, err)
		_, err = b.Append(ctx, ConductorSubject("a.b", "x"), nil, 0)
		require.ErrorIs(t, err, ErrSubject)
		_, err = b.AppendFiltered(ctx, s, "task.>", nil, 0)
		require.ErrorIs(t, err, ErrSubject)
		_, err = b.AppendFiltered(ctx, s, ConductorFilter("other"), nil, 0)
		require.ErrorIs(t, err, ErrSubject, "a fence that does not cover its own append is none")
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err = b.Append(ended, s, nil, 1)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestReadEndsAtTheEnd(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		s := AttemptSubject("r", "local", "reader", "t", 1)
		require.Empty(t, collect(t, b, ctx, RunFilter("r"), 0))

		var pos []uint64
		var last uint64
		for i := range 3 * readAhead {
			p, err := b.Append(ctx, s, fmt.Append(nil, i), last)
			require.NoError(t, err)
			_, err = b.Append(ctx, AttemptSubject("r2", "local", "reader", fmt.Sprint(i), 1), nil, 0)
			require.NoError(t, err)
			pos, last = append(pos, p), p
		}
		got := collect(t, b, ctx, RunFilter("r"), 0)
		require.Len(t, got, len(pos))
		for i, m := range got {
			require.Equal(t, pos[i], m.Pos)
			require.Equal(t, fmt.Sprint(i), string(m.Data))
			require.Equal(t, s, m.Subject)
			require.False(t, m.Time.IsZero())
		}
		require.Len(t, collect(t, b, ctx, s, pos[len(pos)-2]), 2)
		require.Empty(t, collect(t, b, ctx, s, last+1))

		for m, err := range b.Read(ctx, s, 0) { // a reader may leave early
			require.NoError(t, err)
			require.Equal(t, pos[0], m.Pos)
			break
		}
		for _, err := range b.Read(ctx, "ev.*bad", 0) {
			require.ErrorIs(t, err, ErrSubject)
		}
		ended, cancel := context.WithCancel(ctx)
		defer cancel()
		var end error
		for _, err := range b.Read(ended, s, 0) {
			cancel()
			end = err
		}
		require.ErrorIs(t, end, context.Canceled, "a read that was cut short must not look whole")
	})
}

func collect(t *testing.T, b *Bus, ctx context.Context, filter string, from uint64) []Message { //nolint:revive // t first
	t.Helper()
	var all []Message
	for m, err := range b.Read(ctx, filter, from) {
		require.NoError(t, err)
		all = append(all, m)
	}
	return all
}

func TestTailGoesOn(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		s := ConductorSubject("r", "x")
		pos, err := b.Append(ctx, s, []byte("0"), 0)
		require.NoError(t, err)
		tail, stop := context.WithCancel(ctx)
		defer stop()
		n := 0
		for m, err := range b.Tail(tail, RunFilter("r"), 0) {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(n), string(m.Data))
			if n++; n == 5 {
				stop()
				continue
			}
			pos, err = b.Append(ctx, s, fmt.Append(nil, n), pos)
			require.NoError(t, err)
		}
		require.Equal(t, 5, n, "it ends with its context, without an error")
	})
}

func TestTailStartsBehindTheEnd(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		s := ConductorSubject("r", "x")
		var last uint64
		var err error
		for range 3 {
			last, err = b.Append(ctx, s, []byte("early"), last)
			require.NoError(t, err)
		}
		want := last + 3
		var wg sync.WaitGroup
		wg.Go(func() {
			for m, err := range b.Tail(ctx, s, want) {
				if err != nil || m.Pos < want || string(m.Data) != "late" {
					t.Errorf("got %q at %d, %v", m.Data, m.Pos, err)
				}
				return
			}
		})
		for range 2 {
			last, err = b.Append(ctx, s, []byte("early"), last)
			require.NoError(t, err)
		}
		_, err = b.Append(ctx, s, []byte("late"), last)
		require.NoError(t, err)
		wg.Wait()
	})
}

func TestTailEndsWithTheBus(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		_, err := b.Append(ctx, ConductorSubject("r", "x"), nil, 0)
		require.NoError(t, err)
		var end error
		for _, err := range b.Tail(ctx, RunFilter("r"), 0) {
			if err == nil {
				require.NoError(t, b.Close(ctx))
			}
			end = errors.Join(end, err)
		}
		require.ErrorIs(t, end, ErrClosed)
	})
}

// TestTailSurvivesARestart: the server and with it every reader's place goes away; the tail misses and repeats nothing.
func TestTailSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), soon(t)
	s := externalServer(t, dir, 0)
	o := fast(t)
	o.URL = "nats://ann:secret@" + s.Addr().String()
	b := open(t, o)
	b.tryPatience = 500 * time.Millisecond
	subject := ConductorSubject("r", "x")
	pos, err := b.Append(ctx, subject, []byte("0"), 0)
	require.NoError(t, err)
	tail, stop := context.WithCancel(ctx)
	defer stop()
	n := 0
	for m, err := range b.Tail(tail, RunFilter("r"), 0) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(n), string(m.Data))
		if n++; n == 6 {
			stop()
			continue
		}
		if n%2 == 1 {
			port := portOf(t, s)
			s.Shutdown()
			s.WaitForShutdown()
			s = externalServer(t, dir, port)
		}
		pos, err = b.Append(ctx, subject, fmt.Append(nil, n), pos)
		require.NoError(t, err, "an append waits for the server to come back")
	}
	require.Equal(t, 6, n)
}

// TestARequestWhoseAnswerIsLostEnds: it would wait for as long as its caller lets it.
func TestARequestWhoseAnswerIsLostEnds(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	s := externalServer(t, t.TempDir(), 0)
	o := fast(t)
	o.URL = "nats://ann:secret@" + s.Addr().String()
	conductor := open(t, o)
	calls := 0
	stop, err := conductor.Subscribe(ctx, CallSubject("r", "w1"), func(_ Message, reply func([]byte) error) {
		calls++
		_ = reply([]byte("done")) // lost the first time
	})
	require.NoError(t, err)
	wire := newProxy(t, s.Addr().String())
	o = fast(t)
	o.URL = "nats://ann:secret@" + wire.addr()
	b := open(t, o)
	wire.loseAnswers([]byte("a call"))
	_, err = b.Request(ctx, CallSubject("r", "w1"), []byte("a call"))
	require.ErrorIs(t, err, ErrNoAnswer)
	require.ErrorIs(t, err, ErrUnavailable)
	require.True(t, wire.lost())
	got, err := b.Request(ctx, CallSubject("r", "w1"), []byte("again"))
	require.NoError(t, err)
	require.Equal(t, "done", string(got))
	stop()
	require.Equal(t, 2, calls)
}

// TestAWorkerMayNotLookForWhatItHasAppended: the append was stored, its answer was not heard, and the log is closed to a worker.
func TestAWorkerMayNotLookForWhatItHasAppended(t *testing.T) {
	t.Parallel()
	all, options := spaces(t, "one")
	url := single(t, options())
	host := all[0].host(t, url)
	wire := newProxy(t, strings.TrimPrefix(url, "nats://"))
	b := all[0].member(t, "nats://"+wire.addr(), member.Worker)
	b.tryPatience = 300 * time.Millisecond
	subject, filter := AttemptSubject("r", "worker", "generator", "t", 1), AttemptFilter("r", "generator", "t", 1)
	wire.loseAnswers([]byte("the one"))
	_, err := b.AppendFiltered(soon(t), subject, filter, []byte("the one"), 0)
	require.ErrorIs(t, err, ErrUnsettled)
	require.NotErrorIs(t, err, ErrFenced)
	m, err := host.Last(soon(t), filter)
	require.NoError(t, err)
	require.Equal(t, "the one", string(m.Data))
	_, err = b.AppendFiltered(soon(t), subject, filter, nil, 0)
	require.ErrorIs(t, err, ErrFenced, "no answer was lost")
	for _, err := range b.Tail(soon(t), filter, 0) {
		require.ErrorIs(t, err, ErrDenied)
	}
}

// TestLostAnswer: the append was stored, its answer was not heard. The retry is refused by the fence and must be
// recognised as the caller's own success.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	s := externalServer(t, t.TempDir(), 0)
	wire := newProxy(t, s.Addr().String())
	o := fast(t)
	o.URL = "nats://ann:secret@" + wire.addr()
	b := open(t, o)
	b.tryPatience = 300 * time.Millisecond
	subject := ConductorSubject("r", "x")
	pos, err := b.Append(ctx, subject, []byte("0"), 0)
	require.NoError(t, err)

	wire.loseAnswers([]byte("the one")) // until the connection has been cut once
	mine, err := b.Append(ctx, subject, []byte("the one"), pos)
	require.NoError(t, err)
	require.True(t, wire.lost(), "the test must have lost an answer")
	got := collect(t, b, ctx, subject, 0)
	require.Len(t, got, 2)
	require.Equal(t, got[1].Pos, mine)

	wire.loseAnswers([]byte("the task"))
	task := TaskSubject("generator", "r", "t")
	require.NoError(t, b.Enqueue(ctx, task, "id", bytes.Repeat([]byte("the task"), 2)))
	require.True(t, wire.lost())
	require.ErrorIs(t, b.Enqueue(ctx, task, "id", nil), ErrQueued)

	// The same with a rival: what the lost try met was another's.
	wire.loseAnswers([]byte("second"))
	_, err = b.Append(ctx, subject, []byte("second"), pos)
	require.ErrorIs(t, err, ErrFenced)
}
