package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/orchestrator/act"
	"divisi/orchestrator/fault"
	"divisi/orchestrator/store"
)

func TestAConductorThatDoesNotListenYetIsAskedLater(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	r := AttachedTo("r1", store.Dir{}, b)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	_, err = r.Act(t.Context(), act.Pause{})
	require.ErrorContains(t, err, "try again in a moment")
	require.True(t, fault.IsUsage(err))
}
