package conductor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

// An answer of before the clock was put back by hours waits once, and no longer than one that is given now.
func TestAClockThatWasPutBackProlongsNoWait(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	now := began
	s := run.NewState()
	c := newConductor(Config{Clock: func() time.Time { return now }}, s)
	require.Equal(t, began, c.holdClock())
	s.Decisions["a@1"] = &run.Decided{Answer: run.Answer{ID: "a@1", NotBefore: began.Add(5 * time.Hour)}}
	_, wait := s.Decisions.Next(c.holdClock())
	require.Equal(t, run.HoldBack, wait)
	now = now.Add(4 * time.Second)
	_, wait = s.Decisions.Next(c.holdClock())
	require.Equal(t, run.HoldBack-4*time.Second, wait)
	now = now.Add(6 * time.Second)
	due, wait := s.Decisions.Next(c.holdClock())
	require.NotNil(t, due)
	require.Zero(t, wait)
}
