package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
)

func TestRoundTripLeavesNothing(t *testing.T) {
	t.Parallel()
	o := bus.Options{Dir: t.TempDir()}
	require.NoError(t, roundTrip(t.Context(), o))
	b, err := bus.Open(t.Context(), o)
	require.NoError(t, err)
	waiting, err := b.Queued(t.Context(), "task.>")
	require.NoError(t, err)
	require.Empty(t, waiting)
	require.NoError(t, b.Close(t.Context()))
}
