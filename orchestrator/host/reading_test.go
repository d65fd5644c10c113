package host

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/orchestrator/station"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// setups is a run whose log has setups and nothing else, and that answers workers.
type setups struct {
	t       *testing.T
	bus     *bus.Bus
	conduct *conduct.Half
	subject string
	last    uint64
}

func newSetups(t *testing.T) *setups {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	s := &setups{t: t, bus: b, subject: bus.ConductorSubject("r", string(contextscope.KindRun))}
	s.conduct = &conduct.Half{Place: depot.Place{Log: zerolog.Nop()}, Bus: b, Spec: run.Spec{Run: "r"}}
	s.conduct.Cond, err = conductor.New(t.Context(), conductor.Config{Run: "r", Bus: b, Clock: depot.Now})
	require.NoError(t, err)
	return s
}

// listens answers until stop.
func (s *setups) listens() (stop func()) {
	s.t.Helper()
	stop, err := s.conduct.Listen(s.t.Context())
	require.NoError(s.t, err)
	return stop
}

func (s *setups) append(setup string) (data []byte) {
	s.t.Helper()
	e := wire.Draft(contextscope.KindRun, run.Data{Setup: setup})
	e.V, e.ID, e.Run = contextscope.EventVersion, depot.NewID(), "r"
	data, err := wire.EncodeEvents([]contextscope.Event{e})
	require.NoError(s.t, err)
	s.last, err = s.bus.Append(s.t.Context(), s.subject, data, s.last)
	require.NoError(s.t, err)
	said, err := json.Marshal(wire.Control{Verb: wire.ControlRead})
	require.NoError(s.t, err)
	require.NoError(s.t, s.bus.Publish(s.t.Context(), bus.ControlSubject("r"), said))
	return data
}

// elsewhere reads as a worker elsewhere does.
func (s *setups) elsewhere() station.Reading {
	return station.Reading{W: &station.Work{Place: depot.Place{Log: zerolog.Nop()}, Run: "r", Bus: s.bus}}
}

// What a worker reads of the log through its conductor is what one reads that has the log.
func TestSlowALogIsTheSameThroughTheConductor(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*setups) worker.Log{
		"the bus":       func(s *setups) worker.Log { return s.bus },
		"the conductor": func(s *setups) worker.Log { return s.elsewhere() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetups(t)
			defer s.listens()()
			log := of(s)
			read := func(from uint64) (out []string) {
				for m, err := range log.Read(t.Context(), s.subject, from) {
					require.NoError(t, err)
					var b station.Begun
					b.Take(m)
					require.Equal(t, s.subject, m.Subject)
					require.False(t, m.Time.IsZero())
					out = append(out, b.Setup)
				}
				return out
			}
			require.Empty(t, read(0))
			want := []string{"one", strings.Repeat("2", 700_000), "three", strings.Repeat("4", 800_000), "five"}
			var at []uint64
			for _, setup := range want {
				s.append(setup)
				at = append(at, s.last)
			}
			for i, from := range at {
				require.Equal(t, want[i:], read(from))
			}
			require.Equal(t, want, read(0))
			require.Empty(t, read(s.last+1))
			for range log.Read(t.Context(), s.subject, 0) {
				break // and no more is asked for
			}

			ctx, end := context.WithCancel(t.Context())
			defer end()
			var tailed []string
			for m, err := range log.Tail(ctx, s.subject, at[3]) {
				require.NoError(t, err)
				var b station.Begun
				b.Take(m)
				switch tailed = append(tailed, b.Setup); len(tailed) {
				case 2, 3: // what there was has come
					s.append("later")
				case 4:
					end()
				}
			}
			require.Equal(t, []string{want[3], "five", "later", "later"}, tailed)
			for _, err := range log.Read(ctx, s.subject, 0) {
				require.ErrorIs(t, err, context.Canceled)
			}
			pos, err := log.AppendFiltered(t.Context(), s.subject, s.subject, []byte("x"), s.last)
			require.NoError(t, err)
			require.Greater(t, pos, s.last)
			_, err = log.AppendFiltered(t.Context(), s.subject, s.subject, []byte("x"), s.last)
			require.ErrorIs(t, err, bus.ErrFenced)
		})
	}
}

// A worker that reads while no process conducts the run waits for the next conductor, and for the one after that.
func TestAReaderOutlivesConductors(t *testing.T) {
	t.Parallel()
	s := newSetups(t)
	s.append("first")
	got, ctx := make(chan string), t.Context()
	go func() {
		defer close(got)
		for m, err := range s.elsewhere().Tail(ctx, s.subject, 0) {
			var b station.Begun
			if b.Take(m); err != nil {
				b.Setup = err.Error()
			}
			select {
			case got <- b.Setup:
			case <-ctx.Done():
			}
		}
	}()
	stop := s.listens()
	require.Equal(t, "first", chantest.Next(t, got))
	stop()
	s.append("second")
	stop = s.listens()
	require.Equal(t, "second", chantest.Next(t, got))
	stop()
}

// What a conductor refuses is no failure of its own: the attempt is left to the conductor. After a failure it is asked again.
func TestWhatAConductorDoesNotShow(t *testing.T) {
	t.Parallel()
	s := newSetups(t)
	fails := "the log could not be read"
	stop, err := call.Listen(t.Context(), s.bus, bus.CallFilter("r"), zerolog.Nop(), func(context.Context, bus.Message) ([]byte, error) {
		a := call.Answer{Error: fails}
		if fails == "" {
			a = call.Answer{Error: "attempt t/1 has ended", Class: call.Refused}
		}
		fails = ""
		return json.Marshal(a)
	})
	require.NoError(t, err)
	defer stop()
	for _, err := range s.elsewhere().Tail(t.Context(), bus.AttemptFilter("r", "x", "t", 1), 0) {
		require.ErrorIs(t, err, wire.ErrWithheld)
		require.ErrorContains(t, err, "attempt t/1 has ended")
	}
}

// The answer to an append was lost: the message behind the last one is the worker's own, or another's.
func TestTheLogTellsWhatBecameOfAnAppend(t *testing.T) {
	t.Parallel()
	s := newSetups(t)
	defer s.listens()()
	s.append("before")
	last := s.last
	_, err := s.elsewhere().Settle(t.Context(), s.subject, s.subject, []byte("nothing came"), last)
	require.ErrorIs(t, err, bus.ErrFenced)
	own := s.append("own")
	at := s.last
	s.append("of who went on")
	pos, err := s.elsewhere().Settle(t.Context(), s.subject, s.subject, own, last)
	require.NoError(t, err)
	require.Equal(t, at, pos)
	_, err = s.elsewhere().Settle(t.Context(), s.subject, s.subject, []byte("another's came first"), last)
	require.ErrorIs(t, err, bus.ErrFenced)
}
