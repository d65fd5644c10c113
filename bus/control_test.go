package bus

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
	"divisi/internal/testkit/chantest"
)

func TestRequestAndReply(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		s := ControlSubject("r")
		_, err := b.Request(ctx, s, nil)
		require.ErrorIs(t, err, ErrNoListener)
		var heard atomic.Int64
		unasked := make(chan error, 1)
		stop, err := b.Subscribe(ctx, s, func(m Message, reply func([]byte) error) {
			heard.Add(1)
			if err := reply(append([]byte("re: "), m.Data...)); err != nil {
				unasked <- err
			}
		})
		require.NoError(t, err)
		answer, err := b.Request(ctx, s, []byte("pause"))
		require.NoError(t, err)
		require.Equal(t, "re: pause", string(answer))
		require.NoError(t, b.Publish(ctx, s, []byte("x")))
		require.ErrorIs(t, chantest.Next(t, unasked), errNoReplyWanted)

		stop()
		stop()
		require.NoError(t, b.Publish(ctx, s, nil))
		_, err = b.Request(ctx, s, nil)
		require.ErrorIs(t, err, ErrNoListener)
		require.Equal(t, int64(2), heard.Load())
	})
}

func TestStopWaitsForTheHandler(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		entered, leave := make(chan struct{}), make(chan struct{})
		var left atomic.Bool
		stop, err := b.Subscribe(ctx, "ctl.r", func(Message, func([]byte) error) {
			close(entered)
			<-leave
			left.Store(true)
		})
		require.NoError(t, err)
		require.NoError(t, b.Publish(ctx, "ctl.r", nil))
		chantest.Next(t, entered)
		stopped := make(chan bool)
		go func() {
			stop()
			stopped <- left.Load()
		}()
		select {
		case <-stopped:
			t.Fatal("stop did not wait")
		case leave <- struct{}{}:
		}
		require.True(t, chantest.Next(t, stopped))
	})
}

func TestControlRefuses(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		require.ErrorIs(t, b.Publish(ctx, "ev.r.m.x", nil), ErrSubject)
		require.ErrorIs(t, b.Publish(ctx, "ctl.r", make([]byte, MaxData+1)), ErrTooLarge)
		_, err := b.Request(ctx, "task.a.b.c", nil)
		require.ErrorIs(t, err, ErrSubject)
		_, err = b.Subscribe(ctx, "ctl.>", nil)
		require.ErrorIs(t, err, ErrSubject)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, b.Publish(ended, "ctl.r", nil), context.Canceled)
		require.NoError(t, b.Close(ctx))
		require.ErrorIs(t, b.Publish(ctx, "ctl.r", nil), ErrClosed)
		_, err = b.Request(ctx, "ctl.r", nil)
		require.ErrorIs(t, err, ErrClosed)
	})
}

// What was said while the server was away arrived when it was back: heartbeats of interrupted attempts, and requests for
// tasks whose answers no worker waited for, so that a task lay idle for a whole AckWait.
func TestNothingSaidWithoutAServerArrivesLater(t *testing.T) {
	t.Parallel()
	o, dir := fast(t), t.TempDir()
	s := externalServer(t, dir, 0)
	o.URL, o.Log = "nats://ann:secret@"+s.Addr().String(), zerolog.Nop()
	b, ctx := open(t, o), soon(t)
	q := queue(t, b, "generator", QueueOptions{})
	back, port := b.Back(), portOf(t, s)
	s.Shutdown()
	s.WaitForShutdown()
	for b.nc.IsConnected() {
		require.NoError(t, pause(ctx, nil, lockPoll))
	}
	require.ErrorIs(t, b.Publish(ctx, ActiveSubject("r"), []byte("late")), ErrUnavailable)
	_, err := q.pull(ctx)
	require.ErrorIs(t, err, nats.ErrReconnectBufExceeded)

	externalServer(t, dir, port)
	chantest.Next(t, back)
	require.NoError(t, b.Enqueue(ctx, TaskSubject("generator", "r", "1"), "id", nil))
	require.Equal(t, 1, next(t, q).Number)
}

// TestWhoAnswersNothingIsNotWaitedFor: a host that was killed with a call in flight is still connected for its server. The caller
// waited in its silence for ten minutes.
func TestWhoAnswersNothingIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		b.silence = 100 * time.Millisecond
		took := make(chan func([]byte) error, 2)
		stop, err := b.Subscribe(ctx, CallFilter("r"), func(_ Message, reply func([]byte) error) { took <- reply })
		require.NoError(t, err)
		defer stop()
		_, err = b.Request(ctx, CallSubject("r", "w1"), []byte("a call"))
		require.ErrorIs(t, err, ErrNoAnswer)
		require.ErrorIs(t, err, ErrUnavailable)
		chantest.Next(t, took)

		// One that says that it is at it is waited for.
		b.silence = 2 * time.Second
		answers := make(chan error, 1)
		go func() {
			got, err := b.Request(ctx, CallSubject("r", "w1"), []byte("long"))
			if err == nil && string(got) != "done" {
				err = errors.New(string(got))
			}
			answers <- err
		}()
		reply := chantest.Next(t, took)
		for range 5 {
			require.NoError(t, pause(ctx, nil, b.silence/4))
			require.NoError(t, reply(nil))
		}
		require.NoError(t, reply([]byte("done")))
		require.NoError(t, chantest.Next(t, answers))
	})
}

func TestWhoAnswersLaterGivesSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signs := 0
		stop := Working(t.Context(), func(data []byte) error {
			require.Empty(t, data)
			signs++
			return nil
		})
		time.Sleep(silence + WorkingEvery/2) //nolint:forbidigo // of a bubble
		stop()
		require.Equal(t, 4, signs)
		failed := 0
		stop = Working(t.Context(), func([]byte) error { failed++; return ErrClosed })
		time.Sleep(silence) //nolint:forbidigo // of a bubble
		stop()
		require.Equal(t, 1, failed)
	})
}

// TestEveryWaitEndsBeforeALease: who waits longer than a lease lasts waits for a process that acts no more.
func TestEveryWaitEndsBeforeALease(t *testing.T) {
	t.Parallel()
	for what, waits := range map[string]time.Duration{
		"an answer of the server": tryPatience, "a sign of life": silence, "a task": 2 * pullHeartbeat, "the log": 2 * readHeartbeat,
		"a connection": connectPatience, "the streams of a server": openPatience, "a place of a task": findPatience,
		"a flush": flushPatience,
	} {
		require.Less(t, waits, leaseTime, what)
	}
	require.LessOrEqual(t, 3*WorkingEvery, silence, "two signs may be lost")
}

// TestAMemberThatIsRevokedIsAnsweredNothing: its call was under way, and is over at once.
func TestAMemberThatIsRevokedIsAnsweredNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.work(t)
	b := enters(t, s.joins(t, member.Worker, "w1"))
	took := make(chan func([]byte) error, 1)
	stop, err := s.Subscribe(soon(t), CallFilter("r"), func(_ Message, reply func([]byte) error) { took <- reply })
	require.NoError(t, err)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := b.Request(soon(t), CallSubject("r", "w1"), []byte("a call"))
		ended <- err
	}()
	reply := chantest.Next(t, took)
	require.NoError(t, s.Disconnect("w1"))
	require.ErrorIs(t, chantest.Next(t, ended), ErrDenied)
	require.NoError(t, reply([]byte("too late")))
}
