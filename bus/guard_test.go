package bus

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
	"divisi/internal/testkit/chantest"
)

// handClock is a clock that stands until a test sets it forward.
type handClock struct{ past atomic.Int64 }

func (c *handClock) now() time.Time { return time.Unix(1_000_000, c.past.Load()) }

func (c *handClock) pass(d time.Duration) { c.past.Add(int64(d)) }

// guarding arms the guard of a server. told has what a person would read.
func (s *served) guarding(t *testing.T) (clock *handClock, told chan string) {
	t.Helper()
	clock, told = &handClock{}, make(chan string, 64)
	t.Cleanup(s.Guard(clock.now, func(worker, what string) { told <- worker + " " + what }))
	return clock, told
}

// heard returns when the server has what a member has sent so far.
func heard(t *testing.T, b *Bus) {
	t.Helper()
	flushed := func() bool { return b.nc.FlushTimeout(10*time.Second) == nil } // also after the connection was cut
	require.Eventually(t, flushed, time.Minute, time.Millisecond)
}

func requireTold(t *testing.T, told chan string, parts ...string) {
	t.Helper()
	select {
	case text := <-told:
		for _, part := range parts {
			require.Contains(t, text, part)
		}
	case <-soon(t).Done():
		require.Fail(t, "nothing was told")
	}
}

// sits takes tasks, and reports that it is at them until they are taken from it.
func sits(t *testing.T, s *served, thief *Bus, clock *handClock, tasks int) {
	t.Helper()
	q := queue(t, thief, "generator", QueueOptions{AckWait: time.Second})
	all := make([]*Delivery, tasks)
	for i := range all {
		all[i] = next(t, q)
	}
	stop := beating(t, all)
	back := thief.Back()
	for range sitFor / guardEvery { // the signs of life are never old
		clock.pass(guardEvery)
		for _, d := range all {
			require.NoError(t, d.InProgress(soon(t)))
		}
		heard(t, thief)
		s.judge(clock.now())
	}
	select {
	case <-back:
	case <-soon(t).Done():
		require.Fail(t, "its connection was not cut")
	}
	t.Cleanup(stop)
}

// beating reports that tasks are in progress, all the time.
func beating(t *testing.T, all []*Delivery) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var under sync.WaitGroup
	under.Go(func() {
		for pause(ctx, nil, 100*time.Millisecond) == nil {
			for _, d := range all {
				_ = d.InProgress(ctx) // the connection may be away
			}
		}
	})
	return func() { cancel(); under.Wait() }
}

// TestAWorkerThatSitsOnTasks takes all of them with a stolen login, says that it is at them, and never begins: another worker gets
// them, and the thief no more.
func TestAWorkerThatSitsOnTasks(t *testing.T) {
	t.Parallel()
	s := serve(t)
	clock, told := s.guarding(t)
	thief, honest := enters(t, s.joins(t, member.Worker, "w1")), enters(t, s.joins(t, member.Worker, "w2"))
	q := queue(t, honest, "generator", QueueOptions{AckWait: time.Second})
	const tasks = 3
	for round := range maxStrikes {
		for i := range tasks {
			id := fmt.Sprintf("t%d-%d--1", round, i)
			require.NoError(t, s.Enqueue(soon(t), TaskSubject("generator", "r", id), id, nil))
		}
		sits(t, s, thief, clock, tasks)
		requireTold(t, told, "w1 has held 3 tasks for 35s without beginning any, task.generator.r.t",
			fmt.Sprintf("time %d of 3", round+1))
		for range tasks {
			require.NoError(t, next(t, q).Ack(soon(t)))
		}
	}
	require.NoError(t, s.Enqueue(soon(t), TaskSubject("generator", "r", "last--1"), "last", nil))
	_, err := queue(t, thief, "generator", QueueOptions{AckWait: time.Second}).Next(soon(t))
	require.ErrorIs(t, err, ErrDenied)
	require.ErrorContains(t, err, "worker w1: it held tasks for 35s without beginning them, 3 times")
	require.NoError(t, next(t, q).Ack(soon(t)))
	there := make(chan string, 2)
	stop, err := s.Subscribe(soon(t), WorkersPresent(), func(m Message, _ func([]byte) error) { there <- m.Subject })
	require.NoError(t, err)
	defer stop()
	require.NoError(t, thief.Publish(soon(t), WorkerPresence("w1"), []byte("{}")))
	heard(t, thief)
	require.NoError(t, honest.Publish(soon(t), WorkerPresence("w2"), []byte("{}")))
	require.Equal(t, WorkerPresence("w2"), chantest.Next(t, there), "no run counts on the thief any more")
	require.Empty(t, told)
	left, err := s.Queued(soon(t), TaskFilter("r"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// The events of an attempt come from the workers that it was given to: another one cannot take it over by saying that it began.
func TestAWorkerBeginsWhatItWasGivenAlone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.guarding(t)
	thief, honest := enters(t, s.joins(t, member.Worker, "w1")), enters(t, s.joins(t, member.Worker, "w2"))
	require.NoError(t, s.Enqueue(soon(t), TaskSubject("generator", "r", "t--1"), "t", nil))
	d := next(t, queue(t, honest, "generator", QueueOptions{}))
	events := func(b *Bus, worker string, last uint64) (uint64, error) {
		return b.AppendFiltered(soon(t), AttemptSubject("r", worker, "generator", "t", 1), AttemptFilter("r", "generator", "t", 1), []byte("{}"), last)
	}
	_, err := events(thief, "w1", 0)
	require.ErrorIs(t, err, ErrFenced)
	pos, err := events(honest, "w2", 0)
	require.NoError(t, err)
	_, err = events(thief, "w1", pos)
	require.ErrorIs(t, err, ErrFenced)
	require.NoError(t, d.Ack(soon(t)))
	heard(t, honest)
	_, err = events(honest, "w2", pos)
	require.NoError(t, err, "it has begun, and may tell how it ended")
}

// TestAWorkerThatBeginsKeepsItsTasks for as long as it says that it is at them, also when the gate does not know any more that it
// got them.
func TestAWorkerThatBeginsKeepsItsTasks(t *testing.T) {
	t.Parallel()
	s := serve(t)
	clock, told := s.guarding(t)
	login := s.joins(t, member.Worker, "w1")
	key, err := login.Key()
	require.NoError(t, err)
	b := enters(t, login)
	q := queue(t, b, "generator", QueueOptions{})
	require.NoError(t, s.Enqueue(soon(t), TaskSubject("generator", "r", "t--1"), "t", nil))
	d := next(t, q)
	_, err = b.Append(soon(t), AttemptSubject("r", "w1", "generator", "t", 1), []byte("started"), 0)
	require.NoError(t, err)
	goesOn := func() {
		for range 10 * sitFor / lapse {
			clock.pass(lapse)
			require.NoError(t, d.InProgress(soon(t)))
			heard(t, b)
			s.judge(clock.now())
		}
		w := s.gate.guard.worker(key)
		require.Contains(t, w.answers, d.AckSubject)
	}
	goesOn()
	g := s.gate.guard
	g.mu.Lock()
	clear(g.workers)
	g.mu.Unlock()
	require.NoError(t, s.cut(key))
	require.Eventually(t, func() bool { return b.nc.IsConnected() && d.InProgress(soon(t)) == nil }, time.Minute, 10*time.Millisecond)
	goesOn()
	require.NoError(t, d.Ack(soon(t)))
	require.Empty(t, told)
}

// TestATaskThatIsHandedBackSoonIsAnothers: a worker that has not begun it keeps it from no other for long; the other one has it
// within a minute of the time that it was taken, whatever its first worker does.
func TestATaskThatIsHandedBackSoonIsAnothers(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, sitFor+guardEvery+maxAckWait, time.Minute)
	s := serve(t)
	s.guarding(t)
	thief := enters(t, s.joins(t, member.Worker, "w1"))
	q := queue(t, thief, "generator", QueueOptions{})
	for _, begins := range []bool{false, true} {
		task := fmt.Sprint("t-", begins)
		require.NoError(t, s.Enqueue(soon(t), TaskSubject("generator", "r", task+"--1"), task, nil))
		d := next(t, q)
		if begins {
			_, err := thief.Append(soon(t), AttemptSubject("r", "w1", "generator", task, 1), []byte("started"), 0)
			require.NoError(t, err)
		}
		naks := make(chan string, 8)
		sub, err := s.nc.Subscribe(d.AckSubject, func(m *nats.Msg) { naks <- string(m.Data) })
		require.NoError(t, err)
		require.NoError(t, s.nc.Flush())
		require.NoError(t, d.NakAfter(soon(t), maxDelay))
		want := maxRest
		if begins {
			want = maxDelay
		}
		require.Equal(t, fmt.Sprintf(`-NAK {"delay": %d}`, want.Nanoseconds()), chantest.Next(t, naks))
		require.NoError(t, sub.Unsubscribe())
	}
}

// TestAWorkerHoldsNoMoreTasksThanItMay has it take one after the other, and none of them begun.
func TestAWorkerHoldsNoMoreTasksThanItMay(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, told := s.guarding(t)
	b := enters(t, s.joins(t, member.Worker, "w1"))
	q := queue(t, b, "generator", QueueOptions{})
	add := func(i int) {
		id := fmt.Sprintf("t%d--1", i)
		require.NoError(t, s.Enqueue(soon(t), TaskSubject("generator", "r", id), id, nil))
	}
	var first *Delivery
	for i := range maxHeld - 1 {
		add(i)
		if d := next(t, q); i == 0 {
			first = d
		}
	}
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	require.NoError(t, err)
	for range 3 { // it may ask for them now
		require.NoError(t, b.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.TASKS.generator--r", inbox, []byte(pullRequest)))
	}
	heard(t, b)
	add(maxHeld - 1)
	add(maxHeld)
	got, err := sub.NextMsgWithContext(soon(t))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("task.generator.r.t%d--1", maxHeld-1), got.Subject)
	_, err = q.Next(soon(t))
	require.ErrorIs(t, err, ErrDenied)
	require.ErrorContains(t, err, "it holds 512, as many as a worker may")
	other := queue(t, enters(t, s.joins(t, member.Worker, "w2")), "generator", QueueOptions{})
	require.Equal(t, fmt.Sprintf("t%d--1", maxHeld), next(t, other).ID, "what it gets no more is another's")
	require.NoError(t, first.Ack(soon(t)))
	add(maxHeld + 1)
	require.Equal(t, fmt.Sprintf("t%d--1", maxHeld+1), next(t, q).ID)
	require.Empty(t, told)
}

// TestAWorkerThatFloodsTheStore is stopped at its share, by the error of a full store; others continue.
func TestAWorkerThatFloodsTheStore(t *testing.T) {
	t.Parallel()
	const store, size = 64 << 20, 900 << 10
	s := serveStore(t, store)
	clock, told := s.guarding(t)
	flooder, honest := enters(t, s.joins(t, member.Worker, "w1")), enters(t, s.joins(t, member.Worker, "w2"))
	puts := 0
	put := func(b *Bus) error {
		puts++
		return b.Put(soon(t), fmt.Sprint("object ", puts), make([]byte, size))
	}
	var err error
	for err == nil {
		err = put(flooder)
	}
	require.ErrorIs(t, err, ErrFull)
	require.ErrorContains(t, err, "worker w1: it has stored 32 MiB, as much as a worker may at once")
	require.InDelta(t, storeShare(store), puts*size, 2*size)
	requireTold(t, told, "w1 stores too much: it has stored 32 MiB", "revoke it")
	require.NoError(t, put(honest))
	require.NoError(t, s.Enqueue(soon(t), TaskSubject("generator", "r", "t--1"), "t", nil))
	next(t, queue(t, flooder, "generator", QueueOptions{}))
	_, err = flooder.Append(soon(t), AttemptSubject("r", "w1", "generator", "t", 1), []byte("x"), 0)
	require.NoError(t, err, "it still says what it is at")

	before, err := s.objects.Info(soon(t))
	require.NoError(t, err)
	for i := range 50 { // without waiting for an answer
		require.NoError(t, flooder.nc.Publish(fmt.Sprint("obj.n.more", i), make([]byte, size)))
	}
	require.ErrorIs(t, put(flooder), ErrFull)
	after, err := s.objects.Info(soon(t))
	require.NoError(t, err)
	require.Equal(t, before.State.Bytes, after.State.Bytes)

	waits := make(chan string, 8)
	flooder.WaitForRoom(func(text string) { waits <- text })
	stored := make(chan error, 1)
	go func() { stored <- put(flooder) }()
	require.Contains(t, chantest.Next(t, waits), "stores nothing")
	clock.pass(30 * time.Minute)
	require.Contains(t, chantest.Next(t, waits), "stores again")
	require.NoError(t, chantest.Next(t, stored))
	require.Empty(t, told)
}

// TestAWorkerEndsNoTaskOfAnother answers for a task that another worker holds, where that one is to answer: also after a restart
// of the gate, for which a task that a worker has begun is its own.
func TestAWorkerEndsNoTaskOfAnother(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.guarding(t)
	login := s.joins(t, member.Worker, "w1")
	honest, hostile := enters(t, login), enters(t, s.joins(t, member.Worker, "w2"))
	q := queue(t, honest, "generator", QueueOptions{})
	subject := TaskSubject("generator", "r", "t--1")
	require.NoError(t, s.Enqueue(soon(t), subject, "t", nil))
	d := next(t, q)
	queued := func() []string {
		heard(t, hostile)
		left, err := s.Queued(soon(t), TaskFilter("r"))
		require.NoError(t, err)
		return left
	}
	for _, end := range []string{"+ACK", "+TERM ", "+TERM it is mine", "-NAK", `-NAK {"delay": 1}`} {
		require.NoError(t, hostile.nc.Publish(d.AckSubject, []byte(end)))
	}
	require.Equal(t, []string{subject}, queued())
	key, err := login.Key()
	require.NoError(t, err)
	_, err = honest.Append(soon(t), AttemptSubject("r", "w1", "generator", "t", 1), []byte("started"), 0)
	require.NoError(t, err)
	g := s.gate.guard
	g.mu.Lock()
	clear(g.workers)
	g.mu.Unlock()
	require.NoError(t, s.cut(key))
	require.NoError(t, hostile.nc.Publish(d.AckSubject, ackDone))
	require.Equal(t, []string{subject}, queued())
	require.NoError(t, d.Ack(soon(t)))
	require.Empty(t, queued())
	require.NoError(t, d.Ack(soon(t)), "its answer may have been lost")
}

// TestAStrangerUsesUpNothingOfAWorker says that it has the key of a worker, which is no secret, and stores before that is proven.
func TestAStrangerUsesUpNothingOfAWorker(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.guarding(t)
	login := s.joins(t, member.Worker, "w1")
	key, err := login.Key()
	require.NoError(t, err)
	d := tls.Dialer{Config: member.Pinned(login.Certificate, time.Now)}
	conn, err := d.DialContext(soon(t), "tcp", strings.TrimPrefix(login.URL, "tls://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	const size = 1 << 10
	_, err = fmt.Fprintf(conn, "CONNECT {\"nkey\":%q,\"sig\":\"\"}\r\nPUB obj.n.x %d\r\n%s\r\n", key, size, make([]byte, size))
	require.NoError(t, err)
	said, _ := io.ReadAll(conn) // the gate closes it without the last word of TLS
	require.Contains(t, string(said), "Authorization Violation")
	require.Zero(t, s.gate.guard.worker(key).stored.level)
}

// TestAMemberOpensSoMuch: the server keeps a queue for a day, and the place of a reader for a minute.
func TestAMemberOpensSoMuch(t *testing.T) {
	t.Parallel()
	w, g, now := worker{}, guard{readers: map[string]readers{}}, time.Unix(60, 0)
	for i := range maxQueues {
		require.NoError(t, w.open(fmt.Sprint(i), now))
		require.NoError(t, w.open("0", now), "again is no more")
	}
	require.ErrorContains(t, w.open("more", now), "has opened 4096 queues within a day")
	require.NoError(t, w.open("more", now.Add(idleRun+1)))
	for range maxReaders {
		require.NoError(t, g.follow("ada", now))
	}
	require.ErrorIs(t, g.follow("ada", now), member.ErrRefused)
	require.NoError(t, g.follow("eve", now))
	require.NoError(t, g.follow("ada", now.Add(time.Minute)))
	require.Len(t, g.readers, 2)
}

// TestAWorkerReportsWhatItHolds: that an attempt is at work the conductor hears of the worker that has it, and of none else.
func TestAWorkerReportsWhatItHolds(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.guarding(t)
	honest, liar := enters(t, s.joins(t, member.Worker, "w1")), enters(t, s.joins(t, member.Worker, "w2"))
	reports := make(chan string, 8)
	stop, err := s.Subscribe(soon(t), ActiveSubject("r"), func(m Message, _ func([]byte) error) { reports <- string(m.Data) })
	require.NoError(t, err)
	defer stop()
	subject := TaskSubject("generator", "r", "t--1")
	require.NoError(t, s.Enqueue(soon(t), subject, "t", nil))
	d := next(t, queue(t, honest, "generator", QueueOptions{}))
	for _, what := range []string{subject, "task.generator.r.other--1", "nothing"} {
		require.NoError(t, liar.Publish(soon(t), ActiveSubject("r"), []byte(what)))
	}
	heard(t, liar)
	require.NoError(t, honest.Publish(soon(t), ActiveSubject("r"), []byte(subject)))
	require.Equal(t, subject, chantest.Next(t, reports))
	require.Empty(t, reports)
	require.NoError(t, d.Ack(soon(t)))
	require.NoError(t, honest.Publish(soon(t), ActiveSubject("r"), []byte(subject)))
	heard(t, honest)
	require.Empty(t, reports, "it holds it no more")
}
