package bus

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

const shortAckWait = 300 * time.Millisecond

func queue(t testing.TB, b *Bus, role string, o QueueOptions) *Queue {
	t.Helper()
	if b.login != nil && o.Run == "" { // a member has queues of runs alone
		o.Run = "r"
	}
	q, err := b.Queue(soon(t), role, o)
	require.NoError(t, err)
	return q
}

func next(t testing.TB, q *Queue) *Delivery {
	t.Helper()
	d, err := q.Next(soon(t))
	require.NoError(t, err)
	return d
}

func TestTaskLifeCycle(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		q := queue(t, b, "generator", QueueOptions{})
		s := TaskSubject("generator", "r", "t")
		require.NoError(t, b.Enqueue(ctx, s, "r.t.1", []byte("brief")))
		require.ErrorIs(t, b.Enqueue(ctx, s, "r.t.1", []byte("brief")), ErrQueued, "queued")

		d := next(t, q)
		require.Equal(t, &Delivery{
			Subject: s, ID: "r.t.1", Data: []byte("brief"), Number: 1, AckSubject: d.AckSubject, bus: b,
		}, d)
		require.ErrorIs(t, b.Enqueue(ctx, s, "r.t.2", nil), ErrQueued, "running")
		require.NoError(t, d.InProgress(ctx))
		left, err := b.Queued(ctx, TaskFilter("r"))
		require.NoError(t, err)
		require.Equal(t, []string{s}, left)

		require.NoError(t, d.Ack(ctx))
		left, err = b.Queued(ctx, TaskFilter("r"))
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, b.Enqueue(ctx, s, "r.t.1", nil), "the same id again, at once")
		require.NoError(t, next(t, q).Term(ctx, "poison:\r\nno use"))
		require.NoError(t, b.Enqueue(ctx, s, "r.t.2", nil))
	})
}

func TestWhatIsHandedBackIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	for name, c := range map[string]struct {
		back  func(ctx context.Context, d *Delivery) error
		least time.Duration
	}{
		"at once": {func(ctx context.Context, d *Delivery) error { return d.Nak(ctx) }, 0},
		"later":   {func(ctx context.Context, d *Delivery) error { return d.NakAfter(ctx, delay) }, delay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backends(t, func(t *testing.T, o Options) {
				b, ctx := open(t, o), soon(t)
				q := queue(t, b, "reader", QueueOptions{AckWait: time.Hour})
				require.NoError(t, b.Enqueue(ctx, TaskSubject("reader", "r", "t"), "id", nil))
				handed := time.Now()
				require.NoError(t, c.back(ctx, next(t, q)))
				second := next(t, q)
				require.GreaterOrEqual(t, time.Since(handed), c.least)
				require.Equal(t, 2, second.Number)
				require.NoError(t, second.Ack(ctx))
			})
		})
	}
}

// TestZombie plays the whole fence: a worker goes silent, another gets the task and takes the attempt over, the first
// comes back and cannot append any more.
func TestZombie(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		q := queue(t, b, "generator", QueueOptions{AckWait: shortAckWait})
		require.NoError(t, b.Enqueue(ctx, TaskSubject("generator", "r", "t"), "id", nil))
		attempt := AttemptSubject("r", "local", "generator", "t", 1)

		zombie := next(t, q)
		started, err := b.Append(ctx, attempt, []byte("started 1"), 0)
		require.NoError(t, err)

		heir := next(t, q)
		require.Equal(t, 1, zombie.Number)
		require.Equal(t, 2, heir.Number)
		last, err := b.Last(ctx, attempt)
		require.NoError(t, err)
		require.Equal(t, started, last.Pos)
		took, err := b.Append(ctx, attempt, []byte("started 2"), last.Pos)
		require.NoError(t, err)

		_, err = b.Append(ctx, attempt, []byte("result of 1"), started)
		require.ErrorIs(t, err, ErrFenced)
		_, err = b.Append(ctx, attempt, []byte("result of 2"), took)
		require.NoError(t, err)
		require.NoError(t, heir.Ack(ctx))
	})
}

func TestHeartbeatKeepsTheTask(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		q := queue(t, b, "generator", QueueOptions{AckWait: time.Second})
		require.NoError(t, b.Enqueue(ctx, TaskSubject("generator", "r", "t"), "id", nil))
		d := next(t, q)
		beat := time.NewTicker(time.Second / 10)
		defer beat.Stop()
		waiting, cancel := context.WithTimeout(ctx, 2500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			other, err := q.Next(waiting)
			if other != nil || err == nil {
				t.Errorf("got delivery %+v of a task that is being worked on", other)
			}
		})
		for waiting.Err() == nil {
			select {
			case <-beat.C:
				require.NoError(t, d.InProgress(ctx))
			case <-waiting.Done():
			}
		}
		wg.Wait()
		require.NoError(t, d.Ack(ctx))
	})
}

func TestMaxDeliverLeavesTheTaskListed(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		q := queue(t, b, "generator", QueueOptions{AckWait: time.Hour, MaxDeliver: 2})
		s := TaskSubject("generator", "r", "poison")
		require.NoError(t, b.Enqueue(ctx, s, "id", nil))
		for range 2 {
			require.NoError(t, next(t, q).Nak(ctx))
		}
		short, cancel := context.WithTimeout(ctx, shortAckWait)
		defer cancel()
		_, err := q.Next(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		left, err := b.Queued(ctx, "task.generator.>")
		require.NoError(t, err)
		require.Equal(t, []string{s}, left)
		require.NoError(t, b.Purge(ctx, s))
		require.NoError(t, b.Enqueue(ctx, s, "id", nil))
		require.Equal(t, 1, next(t, q).Number)
	})
}

// TestPurgeWhileWithAWorker: what a conductor does when it resumes a run.
func TestPurgeWhileWithAWorker(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		q := queue(t, b, "generator", QueueOptions{AckWait: time.Hour})
		other := TaskSubject("reader", "r2", "t")
		require.NoError(t, b.Enqueue(ctx, other, "other", nil))
		s := TaskSubject("generator", "r", "t")
		require.NoError(t, b.Enqueue(ctx, s, "id", []byte("old")))
		old := next(t, q)

		require.NoError(t, b.Purge(ctx, TaskFilter("r")))
		require.NoError(t, b.Enqueue(ctx, s, "id", []byte("new")))
		fresh := next(t, q)
		require.Equal(t, "new", string(fresh.Data))
		require.Equal(t, 1, fresh.Number)
		require.NoError(t, old.Ack(ctx), "the old owner notices nothing")
		left, err := b.Queued(ctx, "task.>")
		require.NoError(t, err)
		require.Equal(t, []string{s, other}, left, "and its acknowledgement touches neither the new task nor another run's")
		require.NoError(t, fresh.Ack(ctx))
	})
}

func TestManyWorkersShareTheQueue(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		const tasks, workers = 60, 4
		for i := range tasks {
			require.NoError(t, b.Enqueue(ctx, TaskSubject("generator", "r", fmt.Sprint(i)), fmt.Sprint(i), nil))
		}
		var mu sync.Mutex
		seen := map[string]int{}
		working, done := context.WithCancel(ctx)
		defer done()
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				q, err := b.Queue(ctx, "generator", QueueOptions{})
				for err == nil {
					var d *Delivery
					if d, err = q.Next(working); err != nil {
						break
					}
					err = d.Ack(ctx)
					mu.Lock()
					if seen[d.ID]++; len(seen) == tasks {
						done()
					}
					mu.Unlock()
				}
				if working.Err() == nil {
					t.Errorf("worker: %v", err)
				}
			})
		}
		wg.Wait()
		require.Len(t, seen, tasks)
		for id, n := range seen {
			require.Equal(t, 1, n, id)
		}
	})
}

// TestLateTaskIsHandedBack: a caller that stops waiting takes no task along.
func TestLateTaskIsHandedBack(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		q := queue(t, b, "generator", QueueOptions{AckWait: time.Hour, MaxDeliver: 1000})
		for i := range 30 {
			s := TaskSubject("generator", "r", fmt.Sprint(i))
			waiting, cancel := context.WithCancel(ctx)
			got := make(chan *Delivery, 1)
			go func() {
				d, _ := q.Next(waiting)
				got <- d
			}()
			var wg sync.WaitGroup
			wg.Go(cancel)
			require.NoError(t, b.Enqueue(ctx, s, s, nil))
			d := chantest.Next(t, got)
			wg.Wait()
			if d == nil {
				d = next(t, q) // an hour would not be enough if it had been lost
			}
			require.Equal(t, s, d.Subject)
			require.NoError(t, d.Ack(ctx))
		}
	})
}

func TestQueueRefuses(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		_, err := b.Queue(ctx, "a.b", QueueOptions{})
		require.ErrorIs(t, err, ErrSubject)
		require.ErrorIs(t, b.Enqueue(ctx, "task.*.r.t", "id", nil), ErrSubject)
		require.ErrorIs(t, b.Enqueue(ctx, TaskSubject("x", "r", "t"), "id", make([]byte, MaxData+1)), ErrTooLarge)
		require.ErrorIs(t, b.Purge(ctx, "ev.>"), ErrSubject)
		_, err = b.Queued(ctx, "")
		require.ErrorIs(t, err, ErrSubject)
	})
}

// TestQueueIsRemade: the server lost the role's queue (an operator removed it); workers continue.
func TestQueueIsRemade(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		q := queue(t, b, "generator", QueueOptions{})
		require.NoError(t, b.tasks.DeleteConsumer(ctx, "generator"))
		require.NoError(t, b.Enqueue(ctx, TaskSubject("generator", "r", "t"), "id", nil))
		require.NoError(t, next(t, q).Ack(ctx))
	})
}

func TestTwoRunsSideBySide(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		q := queue(t, b, "generator", QueueOptions{})
		for _, run := range []string{"a", "b"} {
			require.NoError(t, b.Enqueue(ctx, TaskSubject("generator", run, "t"), run, nil))
			_, err := b.AppendFiltered(ctx, ConductorSubject(run, "run"), ConductorFilter(run), []byte(run), 0)
			require.NoError(t, err)
		}
		require.NoError(t, b.Purge(ctx, TaskFilter("a")))
		d := next(t, q)
		require.Equal(t, "b", d.ID)
		require.NoError(t, d.Ack(ctx))
		got := collect(t, b, ctx, RunFilter("b"), 0)
		require.Len(t, got, 1)
		require.Equal(t, "b", string(got[0].Data))
		names := 0
		for range b.js.StreamNames(ctx).Name() {
			names++
		}
		require.Equal(t, 5, names, "no stream is ever made for a run")
	})
}

func TestPullRequestSaysWhatItMeans(t *testing.T) {
	t.Parallel()
	require.Equal(t, fmt.Sprintf(`{"batch":1,"expires":%d,"idle_heartbeat":%d}`, pullExpiry, pullHeartbeat),
		strings.ReplaceAll(pullRequest, " ", ""))
}
