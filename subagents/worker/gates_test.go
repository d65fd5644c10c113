package worker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
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
	at := &attempt{
		worker:     &Worker{Places: &Places{commands: limiter}},
		assignment: &wire.Assignment{Project: spec.Project{Gates: []spec.Gate{{Name: "g", Command: []string{"true"}}}}},
	}
	for name, run := range map[string]func(context.Context) error{
		"gate": func(ctx context.Context) error { _, err := gates{at}.Run(ctx, "g"); return err },
		"command": func(ctx context.Context) error {
			_, err := runner{at}.Run(ctx, commands.Command{Shell: "true"})
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

func TestACommandRoleGetsItsCoreBeforeItsPlace(t *testing.T) {
	t.Parallel()
	limiter := gate.NewLimiter(1)
	release, err := limiter.Acquire(t.Context())
	require.NoError(t, err)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing else would end the wait
	at := &attempt{
		worker:     &Worker{Places: &Places{commands: limiter}},
		progress:   &progress{clock: time.Now, last: time.Now(), append: func(contextscope.Event) {}},
		assignment: &wire.Assignment{Role: spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"true"}}},
	}
	_, err = at.carryOut(ctx)
	require.ErrorContains(t, err, "wait for a free core")
	require.Empty(t, at.private, "nothing was made for it")
}
