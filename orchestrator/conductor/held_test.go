package conductor_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
)

// A conductor whose lease ends writes nothing more and publishes nothing, wherever it is; the next one continues.
func TestSlowAConductorWithoutItsLeaseWritesNothing(t *testing.T) {
	t.Parallel()
	for _, writes := range []int64{2, 5, 9} {
		r := newRig(t, map[string]string{"a.txt": "a\n"}, func(s *run.Spec) {
			s.Roles["edit"] = command("edit", "echo b > a.txt")
			s.Plan = planOf(spec.Task{ID: "t", Role: "edit", Brief: "b", Files: []string{"a.txt"}})
		})
		var held atomic.Int64
		cfg := r.config()
		cfg.Held = func() error {
			if held.Add(1) > writes {
				return errors.New("the lease was lost")
			}
			return nil
		}
		c, err := conductor.New(t.Context(), cfg)
		require.NoError(t, err)
		require.NoError(t, c.Start(t.Context(), r.spec))
		stop := r.worker(t.Context())
		require.ErrorIs(t, c.Run(t.Context()), conductor.ErrDeposed)
		stop()
		n := int64(0)
		for _, err := range r.bus.Read(t.Context(), bus.ConductorFilter(r.spec.Run), 0) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, writes, n)
		require.Zero(t, r.publishes.Load())

		c, err = conductor.New(t.Context(), r.config())
		require.NoError(t, err)
		stop = r.worker(t.Context())
		require.NoError(t, c.Run(t.Context()))
		stop()
		require.Equal(t, run.Done, c.State().Status)
		require.Equal(t, []string{"t"}, r.landed())
	}
}
