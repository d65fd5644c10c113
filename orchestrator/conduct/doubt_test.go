package conduct

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

func TestADoubtIsAskedWhereAPersonWatchesOrReviews(t *testing.T) {
	t.Parallel()
	approve := func(context.Context, Approval) (Answer, error) { return Answer{}, nil }
	require.Equal(t, run.OnDoubtReject, (&Machine{}).onDoubt(false))
	require.Equal(t, run.OnDoubtAsk, (&Machine{}).onDoubt(true))
	require.Equal(t, run.OnDoubtAsk, (&Machine{Approve: approve}).onDoubt(false))
	require.Equal(t, run.OnDoubtReject, (&Machine{Approve: approve, OnDoubt: run.OnDoubtReject}).onDoubt(true))
}
