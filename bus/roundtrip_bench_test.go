package bus

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// trip takes one task from the queue to its result, by the goroutine of a worker.
type trip func(ctx context.Context, id string) error

// ownTrip is a task's way by this package: queued, pulled, begun and ended in the log, both fenced, and off the queue.
func ownTrip(b *testing.B, bus *Bus) trip {
	b.Helper()
	q := queue(b, bus, "generator", QueueOptions{})
	return func(ctx context.Context, id string) error {
		if err := bus.Enqueue(ctx, TaskSubject("generator", "r", id), id, payload); err != nil {
			return err
		}
		d, err := q.Next(ctx)
		if err != nil {
			return err
		}
		subject, fence := AttemptSubject("r", "local", "generator", d.ID, 1), AttemptFilter("r", "generator", d.ID, 1)
		at, err := bus.AppendFiltered(ctx, subject, fence, payload, 0)
		if err == nil {
			_, err = bus.AppendFiltered(ctx, subject, fence, payload, at)
		}
		if err != nil {
			return err
		}
		return d.Ack(ctx)
	}
}

// rawTrip is the same sequence by the client library alone, on the same streams.
func rawTrip(b *testing.B, bus *Bus) trip {
	b.Helper()
	c, err := bus.tasks.CreateOrUpdateConsumer(context.Background(), jetstream.ConsumerConfig{
		Durable: "raw", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "task.raw.>", MaxAckPending: -1,
	})
	require.NoError(b, err)
	return func(ctx context.Context, id string) error {
		if _, err := bus.js.Publish(ctx, "task.raw.r."+id, payload); err != nil {
			return err
		}
		m, err := c.Next(jetstream.FetchMaxWait(5 * time.Second))
		if err != nil {
			return err
		}
		subject := "ev.raw.a.local.generator." + m.Subject()[len("task.raw.r."):] + ".1"
		ack, err := bus.js.Publish(ctx, subject, payload, jetstream.WithExpectLastSequencePerSubject(0))
		if err == nil {
			_, err = bus.js.Publish(ctx, subject, payload, jetstream.WithExpectLastSequencePerSubject(ack.Sequence))
		}
		if err != nil {
			return err
		}
		return m.DoubleAck(ctx)
	}
}

// tripsOf has each of some workers make trips, and returns how long each took.
func tripsOf(b *testing.B, workers, trips int, name string, do trip) []time.Duration {
	b.Helper()
	took := make([]time.Duration, workers*trips)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range trips {
				begun := time.Now()
				if err := do(context.Background(), fmt.Sprintf("%s-%d-%d", name, w, i)); err != nil {
					b.Error(err)
					return
				}
				took[w*trips+i] = time.Since(begun)
			}
		})
	}
	all.Wait()
	return took
}

// BenchmarkRoundTrip prints the median of a task's way beside the same sequence on plain JetStream, in turns, with and without a
// write to the disk for each append.
func BenchmarkRoundTrip(b *testing.B) {
	for _, fsync := range []bool{false, true} {
		for _, workers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("fsync=%t/workers=%d", fsync, workers), func(b *testing.B) {
				bus := benchBus(b, fsync)
				own, raw := ownTrip(b, bus), rawTrip(b, bus)
				var took [2][]time.Duration
				for i := 0; b.Loop(); i++ {
					took[0] = append(took[0], tripsOf(b, workers, 2, fmt.Sprint("r", i), raw)...)
					took[1] = append(took[1], tripsOf(b, workers, 2, fmt.Sprint("o", i), own)...)
				}
				var median [2]float64
				for i := range took {
					slices.Sort(took[i])
					median[i] = took[i][len(took[i])/2].Seconds() * 1e6
				}
				b.ReportMetric(median[0], "raw-µs")
				b.ReportMetric(median[1], "own-µs")
				b.ReportMetric(median[1]/median[0], "own-x")
			})
		}
	}
}
