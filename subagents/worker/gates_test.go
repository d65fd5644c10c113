package worker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
)

func TestAGateThatWaitsForACoreTakesNoTimeOfItsCall(t *testing.T) {
	t.Parallel()
	limiter := gate.NewLimiter(1)
	release, err := limiter.Acquire(t.Context())
	require.NoError(t, err)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	var clocks []string
	ctx = tool.WithQueue(ctx, func() func() {
		clocks = append(clocks, "stand")
		cancel() // nothing else would end the wait
		return func() { clocks = append(clocks, "go") }
	})
	g := gates{at: &attempt{
		worker:     &Worker{cfg: Config{Gates: limiter}},
		assignment: &wire.Assignment{Project: spec.Project{Gates: []spec.Gate{{Name: "g", Command: []string{"true"}}}}},
	}}
	_, err = g.Run(ctx, "g")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"stand", "go"}, clocks)
}
