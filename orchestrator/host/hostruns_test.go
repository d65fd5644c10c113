package host

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/store"
)

// Another host may have gone on with the run already.
func TestAPageOfAHostWithoutItsLeaseAppendsNothing(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &Host{lease: b.NewLease(LeaseName, "ours", 0)}
	r := client.AtRest("r", store.Dir{Path: t.TempDir()}, b)
	h.visited(r)
	r.By = "user:ana"
	_, err = r.Act(t.Context(), act.StopLine{Reason: "why"})
	require.ErrorIs(t, err, bus.ErrLeaseLost)
	_, err = r.Act(t.Context(), act.Drop{Tasks: []string{"a"}, Reason: "why"})
	require.ErrorIs(t, err, bus.ErrLeaseLost)
	require.Nil(t, r.At.(*client.Rest).Taken, "the store is left to the other host")
}
