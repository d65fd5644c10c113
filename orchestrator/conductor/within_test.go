package conductor

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/run"
)

// A worker that has left, whatever for, is not sent away after it has come back.
func TestWhoHasLeftIsNotSentAway(t *testing.T) {
	t.Parallel()
	c := newConductor(Config{}, run.NewState())
	c.away.leaving["w1"] = leaving{}
	require.NoError(t, c.discharge(t.Context(), "w1", "left", ""))
	require.Empty(t, c.away.leaving)
}

// A call of a worker that panics where the run is conducted fails, and the run continues.
func TestACallThatPanicsEndsNoRun(t *testing.T) {
	t.Parallel()
	c, acted := newConductor(Config{}, run.NewState()), make(chan error, 1)
	go func() { acted <- (<-c.enlists)(t.Context()) }()
	require.ErrorContains(t, c.within(t.Context(), func(context.Context) error { panic("of the call") }), "panic: of the call")
	require.NoError(t, chantest.Next(t, acted))
}
