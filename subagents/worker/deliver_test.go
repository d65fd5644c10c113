package worker

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/wire"
)

// away is a log without a conductor that shows it. at has what the worker was at whenever it read.
type away struct {
	Log
	worker *Worker
	at     *[][]string
}

func (l away) Read(ctx context.Context, _ string, _ uint64) iter.Seq2[bus.Message, error] {
	return func(yield func(bus.Message, error) bool) {
		*l.at = append(*l.at, l.worker.Active())
		<-ctx.Done()
		yield(bus.Message{}, context.Cause(ctx))
	}
}

// appends is a log that notes what the worker was at whenever it appended.
type appends away

func (l appends) AppendFiltered(ctx context.Context, subject, filter string, data []byte, last uint64) (uint64, error) {
	*l.at = append(*l.at, l.worker.Active())
	return l.Log.AppendFiltered(ctx, subject, filter, data, last)
}

// A worker whose conductor is away hands back what it cannot begin, and is not at work meanwhile.
func TestADeliveryThatCannotBeginIsHandedBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("done")}})
	w.patience = 10 * time.Millisecond
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	q, err := s.bus.Queue(t.Context(), writer.Name, bus.QueueOptions{AckWait: w.cfg.AckWait, MaxDeliver: -1})
	require.NoError(t, err)
	deliver := func(number int) {
		d, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, number, d.Number)
		w.deliver(t.Context(), d, &permit{room: w.agents}, make(chan struct{}))
	}
	var reads, at [][]string
	w.cfg.Events = func(*wire.Assignment) Log { return away{s.bus, w, &reads} }
	deliver(1)
	deliver(2)
	require.Equal(t, [][]string{nil, nil}, reads)
	w.patience = beginPatience
	w.cfg.Events = func(*wire.Assignment) Log { return appends{s.bus, w, &at} }
	deliver(3)
	require.Equal(t, "done", s.result(a).Handoff.Summary)
	require.Empty(t, at[0], "it says that it begins")
	require.Equal(t, []string{"t1"}, at[len(at)-1])
	s.settled(w)
}
