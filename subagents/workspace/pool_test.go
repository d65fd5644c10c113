package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Agents that wait keep their slots: the next attempt gets one of its own.
func TestThePoolGrowsWhereNoSlotIsFree(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	one, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	two, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, one.Dir(), two.Dir())
	require.NoError(t, two.Reset(t.Context(), b.base))
	require.Equal(t, map[string]string{"a.txt": "a\n"}, contents(t, two.Dir()))
	b.pool.Release(two)
	again, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	require.Equal(t, two.Name(), again.Name(), "it is used again")
}
