package toolset

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/tool"
	"divisi/subagents/tool/commands"
	"divisi/subagents/wire"
)

func TestWhatWaitsForACoreTakesNoTimeOfItsCall(t *testing.T) {
	t.Parallel()
	limiter := gate.NewLimiter(1)
	release, err := limiter.Acquire(t.Context())
	require.NoError(t, err)
	defer release()
	c := &Config{
		Runner:     Runner{Cores: limiter},
		Assignment: &wire.Assignment{Project: spec.Project{Gates: []spec.Gate{{Name: "g", Command: []string{"true"}}}}},
	}
	for name, run := range map[string]func(context.Context) error{
		"gate": func(ctx context.Context) error { _, err := gates{c}.Run(ctx, "g"); return err },
		"command": func(ctx context.Context) error {
			_, err := c.Run(ctx, commands.Command{Shell: "true"})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var clocks []string
		ctx = tool.WithQueue(ctx, func() func() {
			clocks = append(clocks, "stand")
			cancel() // nothing else would end the wait
			return func() { clocks = append(clocks, "go") }
		})
		require.ErrorIs(t, run(ctx), context.Canceled, name)
		require.Equal(t, []string{"stand", "go"}, clocks, name)
	}
}
