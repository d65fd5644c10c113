package bus

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// payload is about what one event of a session weighs.
var payload = make([]byte, 400)

// compare runs the variants in turns in one process, so that a busy machine slows them all, and reports the median of
// each in microseconds and its ratio to the first.
func compare(b *testing.B, names []string, ops []func(i int)) {
	b.Helper()
	took := make([][]time.Duration, len(ops))
	for i := 0; b.Loop(); i++ {
		for v, op := range ops {
			begun := time.Now()
			op(i)
			took[v] = append(took[v], time.Since(begun))
		}
	}
	var base float64
	for v, name := range names {
		slices.Sort(took[v])
		median := took[v][len(took[v])/2].Seconds() * 1e6
		if v == 0 {
			base = median
		}
		b.ReportMetric(median, name+"-µs")
		b.ReportMetric(median/base, name+"-x")
	}
}

func benchBus(b *testing.B, fsync bool) *Bus {
	b.Helper()
	o := fast(b)
	o.Sync = &fsync
	return open(b, o)
}

func appender(b *testing.B, bus *Bus) func(int) {
	b.Helper()
	var last uint64
	return func(int) {
		var err error
		last, err = bus.Append(context.Background(), ConductorSubject("r", "x"), payload, last)
		require.NoError(b, err)
	}
}

// dispatcher is one task's way: onto the queue, to a worker, its result into the log, off the queue.
func dispatcher(b *testing.B, bus *Bus) func(int) {
	b.Helper()
	ctx := context.Background()
	q := queue(b, bus, "generator", QueueOptions{})
	return func(i int) {
		id := fmt.Sprint(i)
		require.NoError(b, bus.Enqueue(ctx, TaskSubject("generator", "r", id), id, payload))
		d, err := q.Next(ctx)
		require.NoError(b, err)
		_, err = bus.Append(ctx, AttemptSubject("r", "local", "generator", d.ID, 1), payload, 0)
		require.NoError(b, err)
		require.NoError(b, d.Ack(ctx))
	}
}

func BenchmarkAppend(b *testing.B) {
	compare(b, []string{"lazy", "fsync"}, []func(int){appender(b, benchBus(b, false)), appender(b, benchBus(b, true))})
}

// BenchmarkDispatch is also the measurement behind the queue's asynchronous persistence.
func BenchmarkDispatch(b *testing.B) {
	strict := benchBus(b, true)
	c := strict.tasks.CachedInfo().Config
	require.NoError(b, strict.js.DeleteStream(context.Background(), c.Name))
	c.PersistMode = jetstream.DefaultPersistMode
	s, err := strict.js.CreateStream(context.Background(), c)
	require.NoError(b, err)
	strict.keepStream(s)
	compare(b, []string{"lazy", "fsync", "fsync-queue-too"}, []func(int){
		dispatcher(b, benchBus(b, false)), dispatcher(b, benchBus(b, true)), dispatcher(b, strict),
	})
}

func BenchmarkPut(b *testing.B) {
	put := func(bus *Bus, size int) func(int) {
		return func(i int) {
			require.NoError(b, bus.Put(context.Background(), fmt.Sprint(size, "/", i), make([]byte, size)))
		}
	}
	lazy, fsync := benchBus(b, false), benchBus(b, true)
	compare(b, []string{"lazy-64K", "fsync-64K", "fsync-4M"},
		[]func(int){put(lazy, 64<<10), put(fsync, 64<<10), put(fsync, 4<<20)})
}

func BenchmarkRead(b *testing.B) {
	bus := benchBus(b, false)
	const events = 20_000
	add := appender(b, bus)
	for i := range events {
		add(i)
	}
	begun, n := time.Now(), 0
	for b.Loop() {
		for _, err := range bus.Read(context.Background(), RunFilter("r"), 0) {
			require.NoError(b, err)
			n++
		}
	}
	b.ReportMetric(float64(n)/time.Since(begun).Seconds(), "events/s")
}

func BenchmarkReadShort(b *testing.B) {
	bus := benchBus(b, false)
	add := appender(b, bus)
	for i := range 10 {
		add(i)
	}
	for b.Loop() {
		for _, err := range bus.Read(context.Background(), RunFilter("r"), 0) {
			require.NoError(b, err)
		}
	}
}

func BenchmarkOpenClose(b *testing.B) {
	o := fast(b)
	for b.Loop() {
		bus, err := Open(context.Background(), o)
		require.NoError(b, err)
		require.NoError(b, bus.Close(context.Background()))
	}
}

// BenchmarkReadAtRest reads a log of 100,000 messages that no process owns: from its copy, and from the files of the server.
func BenchmarkReadAtRest(b *testing.B) {
	ctx, o := context.Background(), fast(b)
	data := bytes.Repeat([]byte("x"), 700)
	var all []*jetstream.RawStreamMsg
	for seq := range uint64(100_000) {
		all = append(all, &jetstream.RawStreamMsg{
			Sequence: seq + 1, Subject: AttemptSubject("r", "local", "g", fmt.Sprint(seq%64), 1), Data: data, Time: time.Now(),
		})
	}
	require.NoError(b, remake(ctx, o, []content{{streamEvents, (&files{}).all(all...), uint64(len(all))}},
		func(context.Context, *Bus) error { return nil }))
	owner, err := Open(ctx, o)
	require.NoError(b, err)
	require.NoError(b, owner.Close(ctx))
	for _, from := range []string{"copy", "files"} {
		b.Run(from, func(b *testing.B) {
			for b.Loop() {
				got, err := OpenFiles(o.Dir, "r")
				require.NoError(b, err)
				n := 0
				for _, err := range got.Read(ctx, RunFilter("r"), 0) {
					require.NoError(b, err)
					n++
				}
				require.Equal(b, len(all), n)
				require.NoError(b, got.Close(ctx))
			}
		})
		require.NoError(b, os.RemoveAll(filepath.Join(o.Dir, copyName)))
	}
}
