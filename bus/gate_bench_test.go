package bus

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// BenchmarkGate prints the median of what a worker does behind the gate beside the same in the process of the server, in turns: a
// task's way from the queue to its result, and an object of three messages there and back.
func BenchmarkGate(b *testing.B) {
	s := serve(b)
	b.Cleanup(s.Guard(time.Now, func(_, what string) { b.Error(what) }))
	w := enters(b, s.joins(b, member.Worker, "w1"))
	ctx := context.Background()
	trips := func(worker *Bus, name, role string) func(int) {
		q := queue(b, worker, role, QueueOptions{})
		return func(i int) {
			id := fmt.Sprint(i)
			require.NoError(b, s.Enqueue(ctx, TaskSubject(role, "r", id+"--1"), id, payload))
			d, err := q.Next(ctx)
			require.NoError(b, err)
			require.NoError(b, d.InProgress(ctx))
			_, err = worker.Append(ctx, AttemptSubject("r", name, role, id, 1), payload, 0)
			require.NoError(b, err)
			require.NoError(b, d.Ack(ctx))
		}
	}
	objects := func(worker *Bus, name string) func(int) {
		data := make([]byte, 3*objectPiece)
		return func(i int) {
			at := fmt.Sprint(name, i)
			data[0], data[1], data[2] = name[0], byte(i), byte(i>>8)
			require.NoError(b, worker.Cache().Put(ctx, at, data))
			_, err := worker.Cache().Get(ctx, at)
			require.NoError(b, err)
		}
	}
	b.Run("trip", func(b *testing.B) {
		compare(b, []string{"inside", "gate"}, []func(int){trips(s.Bus, "local", "inside"), trips(w, "w1", "gated")})
	})
	b.Run("object", func(b *testing.B) {
		compare(b, []string{"inside", "gate"}, []func(int){objects(s.Bus, "inside"), objects(w, "gate")})
	})
}
